package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// timedID is an id like those of Codex: it begins with the time, so that the ids of weeks begin alike.
// n makes ids of the same time differ.
func timedID(at time.Time, n int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7%03x-8abc-0123456789ab", ms[:8], ms[8:], n)
}

// firstColumn returns the first column of status for the sessions of a state.
func (b *box) firstColumn(state string, args ...string) []string {
	out, errOut, code := b.run(append([]string{"status"}, args...)...)
	require.Zero(b.t, code, errOut)
	var names []string
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 3 && strings.Contains(line, "  "+state) {
			names = append(names, words[0])
		}
	}
	return names
}

// Most sessions are not listed, as they were never interrupted; a short name that is printed must not
// match one of them, and must match a session.
func TestEveryNameThatIsPrintedWorks(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+`
[backoff]
base_delay = "50ms"
max_retries = 1
[resume]
settle = "0s"
stagger = "0s"
[notify]
events = ["gave_up"]
group_wait = "0s"
[[notify.command]]
name = "script"
run = ["sh", "-c", "cat >> `+b.path("told")+`"]
`)
	b.write("bot/resume.sh", `echo "output of $1"; exit 3`)
	b.start()

	now := time.Now()
	var crowd []string
	for i := range 40 { // of one millisecond, and of the minute around it
		crowd = append(crowd, timedID(now, 0xa01+i), timedID(now.Add(time.Duration(i+1)*time.Second), 0))
	}
	for _, id := range crowd {
		b.write("bot/logs/"+id+".log", "step 1\n")
	}
	lost := []string{timedID(now, 0xa00), timedID(now, 0xb00), timedID(now.Add(time.Second/2), 0)}
	for _, id := range lost {
		b.write("bot/logs/"+id+".log", "step 1\nrate limited\n")
	}
	for _, id := range lost {
		b.untilState(id, resume.GaveUp)
	}
	b.until("people are told", func() bool { return strings.Count(b.read("told"), `"version":1`) == len(lost) })
	printed := b.firstColumn("gave up")
	require.Len(t, printed, len(lost))
	commands := make(map[string]string) // of notices, by id
	for decoder := json.NewDecoder(strings.NewReader(b.read("told"))); decoder.More(); {
		var n notify.Notice
		require.NoError(t, decoder.Decode(&n))
		commands[n.Sessions[0].ID] = n.RetryCommand
	}

	check := func() {
		t.Helper()
		var met []string
		for _, name := range printed {
			for _, args := range [][]string{{"pause", name}, {"unpause", name}, {"status", name}, {"history", name}, {"logs", name}} {
				_, errOut, code := b.run(args...)
				require.Zero(t, code, "%s: %s", args, errOut)
			}
			out, _, _ := b.run("logs", name)
			_, id, _ := strings.Cut(out, "output of ")
			id = strings.Fields(id)[0]
			met = append(met, id)
			out, errOut, code := b.run("status", name, "--json")
			require.Zero(t, code, errOut)
			require.Contains(t, out, id)
			require.NotContains(t, out, `"watching"`)
		}
		require.ElementsMatch(t, lost, met, "each name means one of them")
		for id, command := range commands {
			run := exec.Command("sh", "-c", strings.Replace(command, "resumed ", program+" ", 1))
			run.Env = b.env()
			said, err := run.CombinedOutput()
			require.NoError(t, err, "%s: %s", command, said)
			name, after, _ := strings.Cut(string(said), " ")
			require.True(t, strings.HasPrefix(id, name), "%s: %s", id, said)
			require.Equal(t, "(bot): due now\n", after)
			b.untilState(id, resume.GaveUp)
		}
	}
	check()
	for line := range strings.Lines(firstOf(b.run("history"))) { // its names are typed again, too
		if name := strings.Fields(line)[2]; name != "resumed" {
			_, errOut, code := b.run("history", name)
			require.Zero(t, code, "%s: %s", name, errOut)
		}
	}
	for _, name := range b.firstColumn("watching", "--all") {
		_, errOut, code := b.run("status", name)
		require.Zero(t, code, "%s: %s", name, errOut)
	}

	// New sessions begin with the same names; then comes another daemon.
	for i, name := range printed {
		for n := range 3 {
			id := name + timedID(now, 0)[len(name):]
			b.write(fmt.Sprintf("bot/logs/%s%03d.log", id[:len(id)-3], i*10+n), "step 1\nrate limited, retry in 1h\n")
		}
	}
	b.until("they wait", func() bool { return len(b.firstColumn("waiting")) == 3*len(printed) })
	check()
	require.Zero(t, b.kill(syscall.SIGTERM))
	for _, name := range printed {
		out, errOut, code := b.run("logs", name)
		require.Zero(t, code, "without a daemon: "+errOut)
		require.Contains(t, out, "output of ")
		_, errOut, code = b.run("history", name)
		require.Zero(t, code, "without a daemon: "+errOut)
	}
	b.start()
	check()
	require.ElementsMatch(t, printed, b.firstColumn("gave up"), "a name stays")
}

func TestASessionIsMeantByItsProject(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+strings.NewReplacer(`"mybot"`, `"other"`, "~/bot", "~/shop").Replace(bot))
	b.start()
	b.write("bot/logs/s-1.log", "step 1\n")
	b.write("bot/logs/s-2.log", "rate limited, retry in 1h\n")
	b.write("shop/logs/s-3.log", "rate limited, retry in 1h\n")
	b.write("shop/logs/s-4.log", "rate limited, retry in 1h\n")
	b.untilState("s-2", resume.Waiting)
	b.untilState("s-3", resume.Waiting)
	b.untilState("s-4", resume.Waiting)
	out, errOut, code := b.run("cancel", "bot")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "s-2 (bot): cancelled")
	_, errOut, code = b.run("cancel", "shop")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, `"shop" fits 2 sessions`)
	_, _, code = b.run("cancel", "s-3")
	require.Zero(t, code)
	offered := b.offered("cancel", "sh")
	require.Len(t, offered, 1)
	require.Contains(t, offered[0], "shop\tshop, waiting")
}

func firstOf(text, _ string, _ int) string { return text }
