package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// unseen runs the daemon where it sees no processes: in its own mount namespace, /proc is an empty
// directory.
func (b *box) unseen() {
	b.t.Helper()
	const hide = "mount -t tmpfs none /proc"
	if out, err := exec.Command("unshare", "-m", "sh", "-c", hide).CombinedOutput(); err != nil {
		b.t.Skipf("SKIPPED: A SYSTEM WITHOUT /proc IS NOT TESTED HERE: unshare is not allowed: %v: %s", err, out)
	}
	b.binary = b.path("unseen")
	// Written by another process: one that this test starts meanwhile would keep the file busy.
	write := exec.Command("sh", "-c", `cat > "$0" && chmod +x "$0"`, b.binary)
	write.Stdin = strings.NewReader("#!/bin/sh\nexec unshare -m sh -c '" + hide + ` && exec "$0" "$@"' '` + program + "' \"$@\"\n")
	require.NoError(b.t, write.Run())
}

// If the daemon cannot see whether a session's process runs, it does not resume it, and reports that
// once.
func TestAnUnseenSessionIsHeld(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.unseen()
	const oldClaude, oldCodex = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0aa", "01a1dc7f-d50d-70c2-94be-ec6581ff1faa"
	var agents strings.Builder
	for _, name := range []string{"claude-code", "codex", "gemini", "qwen-code", "opencode"} {
		b.write("tools/"+name, "#!/bin/sh\necho \"$*\" >> \"$HOME/sent\"\n")
		fmt.Fprintf(&agents, "[[agent]]\nname = %q\ncommand = %q\n", name, b.path("tools", name))
	}
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n[control]\ntrust_confined = true\n"+
		"[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n"+agents.String())

	gemini, qwen := b.stay(geminiCLI, 1), b.stay(qwenCode, 2)
	for _, s := range []*stay{gemini, qwen} {
		s.lives(s.path(s.dir))
		s.stops("The model is overloaded.")
	}
	db := b.opencodeDB()
	db.session("ses_a", "", b.path("bot"))
	b.standIn("opencode", idleEnv, idle{}, b.path("bot"))
	db.refused("msg_1", "ses_a", 0)

	captured, err := os.ReadFile(filepath.Join("testdata", "claude-usage-limit.jsonl"))
	require.NoError(t, err)
	claude, newClaude := shiftTranscript(t, string(captured), time.Now(), b.path("bot"))
	b.write(".claude/projects/-src/"+newClaude+".jsonl", claude)
	b.write("old/main.go", "package main\n")
	claude = strings.NewReplacer(newClaude, oldClaude, b.path("bot"), b.path("old"), `"2.1.325"`, `"2.0.76"`).Replace(claude)
	b.write(".claude2/projects/-src/"+oldClaude+".jsonl", claude)
	b.standIn("claude", idleEnv, idle{}, b.path("old"))
	codex := shiftRollout(t, time.Now(), b.path("bot"))
	b.write(codexRollout, codex)
	codex = strings.NewReplacer(codexSession, oldCodex, b.path("bot"), b.path("old"), `"0.166.0"`, `"0.98.0"`).Replace(codex)
	b.write(".codex2/"+strings.ReplaceAll(strings.TrimPrefix(codexRollout, ".codex/"), codexSession, oldCodex), codex)
	b.write(configFile, strings.NewReplacer("name = \"claude-code\"\n", fmt.Sprintf("name = \"claude-code\"\nroots = [%q, %q]\n", b.path(".claude"), b.path(".claude2")),
		"name = \"codex\"\n", fmt.Sprintf("name = \"codex\"\nroots = [%q, %q]\n", b.path(".codex"), b.path(".codex2"))).Replace(b.read(configFile)))
	b.start()

	held := []string{gemini.id, qwen.id, "ses_a", oldClaude, oldCodex}
	for _, id := range held {
		b.until(id+" is held", func() bool {
			s := b.session(id)
			return s.State == resume.Waiting && strings.Contains(s.Reason, "processes cannot be seen")
		})
	}
	b.until("what would have said that it lives is resumed", func() bool {
		return strings.Contains(b.read("sent"), newClaude) && strings.Contains(b.read("sent"), codexSession)
	})
	told := func() map[string]int {
		times := make(map[string]int)
		for _, n := range hook.got() {
			require.Contains(t, n.Text, "processes cannot be seen")
			for _, s := range n.Sessions {
				times[s.ID]++
			}
		}
		return times
	}
	b.until("it is told", func() bool { return len(told()) == len(held) })
	for _, id := range held {
		require.NotContains(t, b.read("sent"), id)
		_, errOut, code := b.run("retry", id)
		require.Zero(t, code, errOut)
		b.until(id+" is held again", func() bool {
			s := b.session(id)
			return s.State == resume.Waiting && strings.Contains(s.Reason, "processes cannot be seen")
		})
		require.NotContains(t, b.read("sent"), id)
	}
	for _, id := range held {
		require.LessOrEqual(t, told()[id], 2, "%s: once, and once more for who asked", id)
	}
}

// A command that an earlier daemon started is not started again if processes cannot be seen.
func TestAnUnseenResumeIsNotDoubled(t *testing.T) {
	b := newBox(t)
	b.unseen()
	b.write(configFile, bot+"[backoff]\nbase_delay = \"10m\"\nmax_delay = \"10m\"\n")
	b.write("bot/resume.sh", recordCall+`while [ ! -e go ]; do sleep 0.05; done; exit 3`)
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("the resume runs", func() bool { return len(b.calls()) == 1 })
	for n, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		b.kill(signal)
		b.start()
		b.until("it is found", func() bool {
			return strings.Count(b.logged(), "a resume of the daemon before still runs") == n+1
		})
		require.Equal(t, resume.Resuming, b.session("s-1").State)
	}
	b.write("bot/go", "")
	s := b.untilState("s-1", resume.Waiting)
	require.Len(t, s.Attempts, 1)
	require.Contains(t, s.Attempts[0].Error, "exit status 3")
	require.Len(t, b.calls(), 1)
}
