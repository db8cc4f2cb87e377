package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify/notifytest"
	"resumed/internal/resume"
)

// A button on the phone reaches the daemon only through the topic of replies: no port is open for it, a
// press counts once, and other messages do nothing.
func TestAButtonOnThePhoneReachesTheDaemon(t *testing.T) {
	b, server := newBox(t), notifytest.NewNtfy(t)
	config := func(replies string) string {
		return bot + "[backoff]\nbase_delay = \"100ms\"\nmax_retries = 1\njitter = false\n[notify]\ngroup_wait = \"0s\"\n" +
			"[[notify.service]]\nname = \"phone\"\nurl = \"" + server.Topic("alerts") + "\"\n" + replies
	}
	b.write(configFile, config(""))
	b.write("bot/resume.sh", recordCall+`echo "no luck"; exit 7`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)
	b.until("the notice arrives", func() bool { return len(server.Got("alerts")) == 1 })
	require.Empty(t, server.Got("alerts")[0].Actions, "there are no buttons until they are asked for")
	require.Zero(t, server.Listeners("answers"))

	b.write(configFile, config("replies = \"answers\"\n"))
	b.until("it listens, without a restart", func() bool { return server.Listeners("answers") == 1 })
	b.write("bot/logs/s-2.log", "step 1\nrate limited\n")
	b.untilState("s-2", resume.GaveUp)
	b.until("the notice arrives", func() bool { return len(server.Got("alerts")) == 2 })
	notice := server.Got("alerts")[1]
	require.Len(t, notice.Actions, 3)
	calls := len(b.calls())
	for _, hostile := range []string{"retry s-2", "retry", "reboot", "{}"} {
		notifytest.Post(t, server.URL+"/answers", hostile)
	}
	notice.Actions[0].Press(t)
	b.until("it is tried again", func() bool { return len(b.calls()) == calls+1 })
	b.untilState("s-2", resume.GaveUp)
	notice.Actions[0].Press(t) // again
	notice.Actions[2].Press(t)
	b.until("it is paused", func() bool { return b.session("s-2").Paused })
	require.Len(t, b.calls(), calls+1, "what was pressed before counts once")
	notice.Actions[1].Press(t)
	b.untilState("s-2", resume.Watching)

	b.write(configFile, config(""))
	b.until("nobody listens any more", func() bool { return server.Listeners("answers") == 0 })
}
