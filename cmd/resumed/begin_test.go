package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// startable is a custom agent that the queue can start; its program writes into a file that
// is named after the session.
const startable = `
[resume]
stagger = "0s"
[backoff]
base_delay = "200ms"
jitter = false
[[agent]]
name = "mybot"
kind = "custom"
files = ["~/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "~/bot"
limit = ['^limited$']
progress = ['^step ']
resume = ["mybot", "resume", "{session}", "{prompt}"]
`

func TestATaskOfAnAgentOfOnesOwnIsBegunByItsStart(t *testing.T) {
	b := newBox(t)
	b.write(configFile, startable)
	b.write("logs/README", "")
	b.write("bin/mybot", `#!/bin/sh
printf '%s\n' "$PWD" "$@" >> "$HOME/calls"
echo "step one" >> "$HOME/logs/$2.log"
`)
	b.start()
	_, errOut, code := b.run("queue", "add", "--agent", "mybot", "--dir", b.path("bot"), "--", "fix it; $(x)")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "resumed cannot start a session of mybot")

	b.write(configFile, startable+"start = [\"mybot\", \"begin\", \"{session}\", \"{prompt}\"]\n")
	b.until("the daemon has the other file", func() bool {
		_, _, code := b.run("queue", "add", "--agent", "mybot", "--dir", b.path("bot"), "--", "fix it; $(x)")
		return code == 0
	})
	b.until("it is a session", func() bool { return b.task(1).State == resume.TaskStarted })
	task := b.task(1)
	require.Equal(t, task.ID, *task.Session)
	require.Equal(t, []string{b.path("bot"), "begin", task.ID, "fix it; $(x)"}, strings.Split(strings.TrimSpace(b.read("calls")), "\n"))
	_, errOut, code = b.run("queue", "add", "--agent", "mybot", "--dir", b.path("bot"), "--model", "big", "--", "more")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "mybot takes no model")

	// From here on it is a session like any other.
	b.appendTo("logs/"+task.ID+".log", "limited\n")
	b.until("it is resumed", func() bool { return strings.HasSuffix(b.read("calls"), "\nresume\n"+task.ID+"\ncontinue\n") })
	b.untilState(task.ID, resume.Watching)
}
