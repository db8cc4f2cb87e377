-- The state of an earlier resumed that was killed with two notices to tell: that of
-- s-1 is in the outbox, that of s-2 was not stored yet.
PRAGMA application_id = 1381190980;
PRAGMA user_version = 1;
CREATE TABLE cursor (
	path TEXT NOT NULL PRIMARY KEY,
	data TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery (
	id         TEXT NOT NULL,
	channel    TEXT NOT NULL,
	payload    BLOB,
	created_at INTEGER NOT NULL,
	tries      INTEGER NOT NULL,
	next_at    INTEGER NOT NULL,
	last_error TEXT NOT NULL,
	done_at    INTEGER NOT NULL,
	outcome    TEXT NOT NULL,
	PRIMARY KEY (id, channel)
) STRICT, WITHOUT ROWID;
INSERT INTO "delivery" VALUES('ntc_ZUQHTZKVJ2UAZVYXPGWNCNSGFV','ops',CAST('{"version":1,"id":"ntc_ZUQHTZKVJ2UAZVYXPGWNCNSGFV","event":"gave_up","at":"{{.At}}","host":"box","title":"bot: mybot gave up after 1 try (rate limit)","text":"Gave up after 1 resume without progress: exit status 1\nSession s-1 in {{.Home}}/bot on box, stopped at 14:05:23 UTC\nTried:\n1. 14:05:23 (waited 0s): failed, exit status 1\nTo try again: resumed retry s-1","account":"mybot:default","sessions":[{"id":"s-1","agent":"mybot","account":"mybot:default","cwd":"{{.Home}}/bot","transcript":"{{.Home}}/bot/logs/s-1.log","state":"gave_up","paused":false,"class":"rate_limit","reason":"gave up after 1 resume without progress: exit status 1","text":"rate limited","limited_at":"{{.At}}","reset_at":null,"next_at":null,"attempt":1,"max_retries":1,"windows":0,"owner":null,"attempts":[{"n":1,"started_at":"{{.At}}","ended_at":"{{.At}}","delay_seconds":0.000996524,"outcome":"failed","error":"exit status 1"}]}],"retry_command":"resumed retry s-1"}' AS BLOB),{{.Millis}},2,{{.Millis}},'post to http://127.0.0.1:9: dial tcp 127.0.0.1:9: connect: connection refused',0,'');
CREATE TABLE history (
	seq   INTEGER PRIMARY KEY,
	at    INTEGER NOT NULL,
	agent TEXT NOT NULL,
	id    TEXT NOT NULL,
	kind  TEXT NOT NULL,
	data  TEXT NOT NULL
) STRICT;
CREATE TABLE session (
	agent TEXT NOT NULL,
	id    TEXT NOT NULL,
	data  TEXT NOT NULL,
	PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "session" VALUES('mybot','s-1','{"key":{"agent":"mybot","id":"s-1"},"account":"mybot:default","cwd":"{{.Home}}/bot","cwd_born":"{{.At}}","transcript":"{{.Home}}/bot/logs/s-1.log","seen":{"epoch":"98611a-0","offset":13},"state":"gave_up","reason":"gave up after 1 resume without progress: exit status 1","limit":{"class":"rate_limit","wait_helps":true},"limit_text":"rate limited","limited_at":"{{.At}}","born_at":"{{.At}}","found_at":"{{.At}}","wait_from":"{{.At}}","dice":0.7659446021973221,"attempts":[{"n":1,"mark":"7ec6e0b4-7b25-4ef6-abee-bd74e8e262c0","started_at":"{{.At}}","ended_at":"{{.At}}","delay":996524,"outcome":"failed","err":"exit status 1"}],"runs":1}');
INSERT INTO "session" VALUES('mybot','s-2','{"key":{"agent":"mybot","id":"s-2"},"account":"mybot:default","cwd":"{{.Home}}/bot","cwd_born":"{{.At}}","transcript":"{{.Home}}/bot/logs/s-2.log","seen":{"epoch":"9860cc-0","offset":13},"state":"gave_up","reason":"gave up after 1 resume without progress: exit status 1","limit":{"class":"rate_limit","wait_helps":true},"limit_text":"rate limited","limited_at":"{{.At}}","born_at":"{{.At}}","found_at":"{{.At}}","wait_from":"{{.At}}","dice":0.2302711916724759,"attempts":[{"n":1,"mark":"8385540c-4acb-4f85-a9bf-b2ebe7a21e5b","started_at":"{{.At}}","ended_at":"{{.At}}","delay":988793,"outcome":"failed","err":"exit status 1"}],"runs":1}');
CREATE TABLE value (
	key  TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "value" VALUES('notify/ledger',CAST('{"version":1,"marks":{"mybot/s-1 gave_up":{"edge":"{{.Millis}}.1.{{.Millis}}","at":{{.Seconds}}}}}' AS BLOB));
CREATE INDEX history_at ON history (at);
CREATE INDEX history_session ON history (agent, id);
