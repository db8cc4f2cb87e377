package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// statusOf runs the command: truncated JSON is a failure.
func (b *box) statusOf() control.Status {
	b.t.Helper()
	out, errOut, code := b.run("status", "--json", "--all")
	require.Zero(b.t, code, errOut)
	var status control.Status
	require.NoError(b.t, json.Unmarshal([]byte(out), &status), out)
	return status
}

// dated returns a record with another timestamp.
func dated(record, at string) string {
	return regexp.MustCompile(`"timestamp":"[^"]*"`).ReplaceAllLiteralString(record, `"timestamp":"`+at+`"`)
}

// These times can be parsed, but not written in UTC.
func TestARecordOfAnImpossibleTimeIsOneSessionsTrouble(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"} {
		t.Run(at, func(t *testing.T) {
			b, h := newBox(t), newHook(t)
			b.write(configFile, bot+"policy = \"once\"\n[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \""+h.URL+"\"\n"+
				"[[backoff.policy]]\nname = \"once\"\nbase_delay = \"10ms\"\nmax_retries = 1\n")
			b.write("bot/resume.sh", recordCall+"exit 3\n")
			b.write("src/x", "")
			b.start()
			b.write(claudeTranscript, dated(refusalLine(claudeSession, b.path("src")), at))
			bad := b.untilState(claudeSession, resume.Waiting)
			require.NotNil(t, bad.LimitedAt)
			require.WithinDuration(t, time.Now(), *bad.LimitedAt, time.Hour, "as old as its file")
			b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
			b.untilState("s-1", resume.GaveUp)
			b.until("people are told", func() bool { return len(h.got()) == 1 })
			require.Len(t, b.statusOf().Sessions, 2)
			b.kill(syscall.SIGKILL)
			b.start()
			require.Len(t, b.statusOf().Sessions, 2)
			_, errOut, code := b.run("history", "--json")
			require.Zero(t, code, errOut)
		})
	}
}

// The state of a daemon that did not limit times.
func TestAnImpossibleTimeInTheDatabaseIsOneSessionsTrouble(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	for _, id := range []string{"s-1", "s-2"} {
		b.write("bot/logs/"+id+".log", "rate limited, retry in 3h\n")
		b.untilState(id, resume.Waiting)
	}
	require.Zero(t, b.kill(syscall.SIGTERM))

	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(t, err)
	for _, change := range []string{
		`UPDATE session SET data = json_set(data, '$.limited_at', '0000-01-01T00:00:00+14:00', '$.moved_at', '0000-01-01T00:00:00+14:00',
			'$.next_at', '9999-12-31T23:59:59-14:00') WHERE id = 's-1'`,
		`UPDATE history SET data = json_set(data, '$.next_at', '9999-12-31T23:59:59-14:00') WHERE id = 's-1'`,
	} {
		_, err = db.Exec(change)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())

	b.start()
	require.NotNil(t, b.untilState("s-1", resume.Waiting).NextAt)
	status := b.statusOf()
	require.Len(t, status.Sessions, 2)
	require.Len(t, status.Daemon.Problems, 1)
	require.Contains(t, status.Daemon.Problems[0], "s-1")
	out, errOut, code := b.run("history", "--json")
	require.Zero(t, code, errOut)
	require.Contains(t, out, `"session":"s-2"`)
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	require.Empty(t, b.statusOf().Daemon.Problems, "it was mended for good")
}

// A session that waits for a time that cannot be written would be lost after a crash.
func TestNoTimeThatARecordStatesCostsTheSession(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmax_wait = \"0s\"\n")
	b.write("src/x", "")
	b.start()
	b.write(claudeTranscript, transcriptLine(claudeSession, b.path("src"), time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429,
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": 253402300799, "rateLimitType": "five_hour"},
		"message": map[string]any{
			"role": "assistant", "model": "<synthetic>",
			"content": []any{map[string]any{"type": "text", "text": "You've hit your session limit"}},
		},
	}))
	s := b.untilState(claudeSession, resume.Waiting)
	require.NotNil(t, s.NextAt)
	require.Nil(t, s.ResetAt, "the year 9999 is no time that a provider states")
	require.Less(t, s.NextAt.Year(), 2100)
	_, errOut, code := b.run("pause", claudeSession) // stored when it returns
	require.Zero(t, code, errOut)
	b.kill(syscall.SIGKILL)
	require.NoError(t, os.Remove(b.path(claudeTranscript)))
	b.start()
	require.Equal(t, resume.Waiting, b.session(claudeSession).State)
	require.Empty(t, b.statusOf().Daemon.Problems)
}

func TestImpossibleTimesOfOpencodeAreOneSessionsTrouble(t *testing.T) {
	b := newBox(t)
	b.write("tools/opencode", opencodeScript)
	b.write("src/app/x", "")
	b.write(configFile, fmt.Sprintf("[[agent]]\nname = \"opencode\"\ncommand = %q\n", b.path("tools", "opencode"))+bot)
	db := b.opencodeDB()
	db.exec("INSERT INTO session VALUES ('ses_bad', NULL, ?, 9000000000000000, 9000000000000000, NULL)", b.path("src", "app"))
	db.refused("msg_1", "ses_bad", 10_000)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 3h\n")
	b.untilState("s-1", resume.Waiting)
	b.untilState("ses_bad", resume.Waiting)
	_, errOut, code := b.run("pause", "ses_bad") // stored when it returns
	require.Zero(t, code, errOut)
	b.kill(syscall.SIGKILL)
	b.start()
	require.Len(t, b.statusOf().Sessions, 2)
	require.NotContains(t, b.logged(), "cannot be stored")
}
