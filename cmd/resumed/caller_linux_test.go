package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// orders are commands that only a person may give, and anybodys are those that anybody may.
var (
	orders = []string{
		"retry s-1 --now", "retry --all --now", "retry --unseen", "cancel s-1", "cancel --all", "pause", "pause", "pause", "pause s-1", "unpause",
		"queue add -- work", "queue add --agent claude-code --mode bypassPermissions -- work", "queue edit 1 -- other work", "queue drop 1", "queue move 1 LAST",
		"open --print", "open --new-key", "fleet forget a", "retry elsewhere/s-1",
	}
	anybodys = []string{"status", "status s-1", "status --json", "explain --text -", "usage", "history", "queue", "logs s-1"}
)

// crowded is a daemon with a session that waits, one whose start nobody saw, and a task.
func crowded(t *testing.T) *box {
	b := newBox(t)
	b.vars = []string{"RESUMED_RESUME_UNSEEN=park"}
	b.write(configFile, bot+served+"[log]\nlevel = \"debug\"\n")
	b.write("bot/resume.sh", recordCall)
	b.write("bin/claude", "#!/bin/sh\necho started >> \"$HOME/started\"\n")
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work")+refusalLine(claudeSession, b.path("bot")))
	b.write("bot/logs/s-1.log", "rate limited, retry in 10h\n")
	b.start()
	b.untilState("s-1", resume.Waiting)
	b.untilState(claudeSession, resume.Parked)
	b.mustRun("queue", "add", "--agent", "claude-code", "--after", "10h", "--", "the first task")
	return b
}

func (b *box) mustRun(args ...string) string {
	b.t.Helper()
	out, errOut, code := b.run(args...)
	require.Zero(b.t, code, "%s%s", out, errOut)
	return out
}

// asks has a shell command run the program with each of these arguments, and returns what came of each: its output
// and its exit code. Each %s of how is such a command.
func (b *box) asks(how string, all []string) []string {
	b.t.Helper()
	b.write("said", "")
	var script strings.Builder
	for _, args := range all {
		fmt.Fprintf(&script, "resumed %s 2>&1; echo \"= $?\"\n", args)
	}
	b.write("asks.sh", script.String()+"echo end\n")
	cmd := exec.Command("sh", "-c", how)
	cmd.Env, cmd.Dir = append(b.env(), "PATH="+filepath.Dir(program)+":"+b.path("bin")+":"+os.Getenv("PATH")), b.home
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, string(out))
	b.until("all has been asked for", func() bool { return strings.HasSuffix(b.read("said"), "end\n") })
	var answers []string
	said := b.read("said")
	for range all {
		answer, rest, _ := strings.Cut(said, "\n= ")
		code, rest, _ := strings.Cut(rest, "\n")
		answers, said = append(answers, answer+" ="+code), rest
	}
	return answers
}

// ask is the shell command that asks for everything.
const ask = `sh "$HOME/asks.sh" >>"$HOME/said"`

// theBox is a sandbox as agents have them: it reads everything, writes nothing, and has no network.
const theBox = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent --new-session "

func needs(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("SKIPPED: %s is not installed: what it confines is not tested", name)
	}
}

func TestOnlyAPersonOrders(t *testing.T) {
	b := crowded(t)
	needs(t, "bwrap")
	// agent is a Claude Code that a person started, and that runs a command.
	b.write("agent/claude", "#!/bin/sh\nsh -c \"$1\"\n")
	b.write("waits/claude", "#!/bin/sh\nsh -c \"$1\"\nwhile [ ! -e \"$HOME/over\" ]; do sleep 0.05; done\n")
	t.Cleanup(func() { b.write("over", "") })
	agent := func(command string) string {
		return `CLAUDECODE=1 "$HOME/agent/claude" '` + strings.ReplaceAll(command, "'", `'\''`) + `'`
	}
	unmarked := func(command string) string { return agent("unset CLAUDECODE; " + command) }
	callers := map[string]string{
		"a command of an agent":                        unmarked(ask),
		"one whose parents have ended":                 `setsid "$HOME/waits/claude" '(` + ask + `) & exit' >/dev/null 2>&1 &`,
		"one that has left its session too":            agent(`setsid -f ` + ask),
		"one in a sandbox":                             agent(theBox + ask),
		"one in a sandbox, of an agent that is hidden": theBox + ask,
		"one that may get no privileges":               "setpriv --no-new-privs " + ask,
	}
	for name, how := range callers {
		for i, answer := range b.asks(how, orders) {
			require.Contains(t, answer, "run it in a terminal of your own", "%s: %s", name, orders[i])
			require.True(t, strings.HasSuffix(answer, "=2"), "%s: %s: %s", name, orders[i], answer)
		}
		for i, answer := range b.asks(how, anybodys) {
			require.NotContains(t, answer, "a terminal of your own", "%s: %s", name, anybodys[i])
		}
	}
	mustStandAsBefore(b)
	require.LessOrEqual(t, strings.Count(b.logged(), "order=pause "), len(callers), "what is refused again and again is logged once")
	require.Contains(t, b.mustRun("history"), "retry s-1")

	// The same orders are carried out for a person.
	b.reconfigure(b.read(configFile) + "[control]\ntrust_confined = true\n")
	for name, how := range map[string]string{
		"one in a container that is trusted": theBox + ask,
		"a job that cron starts":             "setsid -f " + ask,
		"a shell beside an agent":            `"$HOME/agent/claude" "sleep 5" & ` + ask,
	} {
		for _, answer := range b.asks(how, []string{"pause s-1", "unpause s-1", "open --print"}) {
			require.True(t, strings.HasSuffix(answer, "=0"), "%s: %s", name, answer)
		}
	}
	term := newTerminal(b, 80, 24, nil, "retry", "s-1", "--now")
	term.shows("ended with 0")
}

func mustStandAsBefore(b *box) {
	b.t.Helper()
	status := b.status()
	require.False(b.t, status.Daemon.Paused)
	tasks, err := b.daemon.Tasks(b.t.Context())
	require.NoError(b.t, err)
	require.Len(b.t, tasks, 1)
	require.Equal(b.t, "the first task", tasks[0].Prompt)
	s := b.session("s-1")
	require.Equal(b.t, resume.Waiting, s.State)
	require.False(b.t, s.Paused)
	require.Equal(b.t, resume.Parked, b.session(claudeSession).State)
	require.Empty(b.t, b.calls())
	require.Empty(b.t, b.read("started"))
}

// What the daemon itself started is no person either, in whatever way it hides that.
func TestAResumedAgentOrdersNothing(t *testing.T) {
	b := crowded(t)
	b.write("asks.sh", "")
	for _, args := range orders {
		b.appendTo("asks.sh", fmt.Sprintf("%s %s </dev/null 2>&1; echo \"= $?\"\n", program, args))
	}
	b.appendTo("asks.sh", "echo end\n")
	b.write("bot/resume.sh", recordCall+`exec env -u `+resume.MarkVariable+` sh -c 'setsid `+ask+`'`)
	b.write("bot/logs/s-2.log", "rate limited, retry in 0s\n")
	b.until("it has asked", func() bool { return strings.HasSuffix(b.read("said"), "end\n") })
	said := b.read("said")
	require.Equal(t, len(orders), strings.Count(said, "\n= 2\n"), said)
	require.Len(t, b.calls(), 1)
	require.NoError(t, os.Remove(b.path("bot/calls")))
	mustStandAsBefore(b)
}

// Without a daemon a task is kept for the next one, by the same rule.
func TestWithoutADaemonOnlyAPersonAddsATask(t *testing.T) {
	b := newBox(t)
	b.write("bin/claude", "#!/bin/sh\n")
	b.write("agent/claude", "#!/bin/sh\nsh -c \"$1\"\n")
	require.Contains(t, b.asks(`"$HOME/agent/claude" '`+ask+`'`, []string{"queue add --agent claude-code -- work"})[0], "an agent may not order this")
	require.Contains(t, b.asks(ask, []string{"queue add --agent claude-code -- work"})[0], "queued for claude-code")
}

// A hook, or whoever calls itself one, reports about the session of its own agent.
func TestAHookReportsOnlyAboutItsOwnSession(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[log]\nlevel = \"debug\"\n")
	b.write("agent/claude", `#!/bin/sh
printf '{"pid":%d,"sessionId":"%s","procStart":"%s","status":"idle","entrypoint":"cli"}' $$ "$1" "$(cut -d' ' -f22 /proc/$$/stat)" > "$HOME/.claude/sessions/$$.json"
while [ ! -e "$HOME/over" ]; do
	sh -c "$2" # a busy daemon may miss it
	for n in $(seq 100); do [ -e "$HOME/over" ] || sleep 0.1; done
done
`)
	b.write(".claude/sessions/README", "")
	b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work"))
	b.start()
	b.until("the session is known", func() bool {
		status, err := b.daemon.Status(t.Context(), true)
		return err == nil && len(status.Sessions) == 1
	})
	report := func(own string) {
		b.write("says", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"Notification","notification_type":"permission_prompt","message":"x"}`, claudeSession))
		b.asks(`"$HOME/agent/claude" `+own+` '`+ask+`' >/dev/null 2>&1 &`, []string{`hook claude-code <"$HOME/says"`})
	}
	t.Cleanup(func() { b.write("over", "") })
	report("0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c001")
	b.until("the report of another is refused", func() bool { return strings.Contains(b.logged(), "a session that is not its own") })
	require.NotContains(t, b.logged(), "a hook asks for a look")
	report(claudeSession)
	b.untilState(claudeSession, resume.Parked)
}
