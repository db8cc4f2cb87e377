package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// pane is an agent at work in a terminal of its own.
type pane struct {
	b      *box
	socket string
}

// talk starts the agent on a new session in a terminal.
func (b *box) talk(prompt string) *pane {
	b.t.Helper()
	if b.seat != "" {
		return b.talkAtSeat(prompt)
	}
	if _, err := exec.LookPath("tmux"); err != nil && os.Getenv("CI") == "" {
		b.t.Skip("SKIPPED: there is no tmux")
	}
	p := &pane{b: b, socket: b.path("tmux")}
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("screen:\n%s", p.screen())
		}
		_ = p.command("kill-server").Run()
	})
	argv := b.kit.talk(prompt)
	argv[0] = filepath.Join(b.bin, argv[0])
	if b.shell {
		argv = append([]string{daemon, "shell"}, argv...)
	}
	if b.plain || b.shell {
		argv = append([]string{"env", "-u", "TMUX", "-u", "TMUX_PANE"}, argv...)
	}
	columns, rows := cmp.Or(b.columns, 140), cmp.Or(b.rows, 45)
	args := append([]string{
		"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-s", "e2e", "-c", b.work, "--",
	}, argv...)
	out, err := p.command(args...).CombinedOutput()
	require.NoError(b.t, err, string(out))
	if b.kit.greet != nil {
		b.kit.greet(p, prompt)
	}
	return p
}

func (p *pane) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...)
	cmd.Env, cmd.Dir = append(p.b.env(), "PWD="+p.b.work), p.b.work
	return cmd
}

// screen is what a person would see.
func (p *pane) screen() string {
	if p.b.seat != "" {
		return p.b.screenAtSeat()
	}
	out, _ := p.command("capture-pane", "-p", "-t", "e2e").Output()
	return string(out)
}

// press presses keys, by their names.
func (p *pane) press(keys ...string) {
	p.b.t.Helper()
	require.NoError(p.b.t, p.command(append([]string{"send-keys", "-t", "e2e"}, keys...)...).Run())
}

func (p *pane) write(text string) {
	p.b.t.Helper()
	require.NoError(p.b.t, p.command("send-keys", "-t", "e2e", "-l", text).Run())
}

func (p *pane) pid() int {
	p.b.t.Helper()
	if p.b.seat != "" {
		return p.b.shells()[0].PID
	}
	out, err := p.command("display-message", "-p", "-t", "e2e", "#{pane_pid}").Output()
	require.NoError(p.b.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(p.b.t, err)
	return pid
}

// kill ends the agent at once, and returns when it is gone.
func (p *pane) kill() {
	p.b.t.Helper()
	group := -p.pid()
	require.NoError(p.b.t, syscall.Kill(group, syscall.SIGKILL))
	p.b.until("the agent is gone", func() bool { return syscall.Kill(group, 0) != nil })
}

func (p *pane) until(what string, shows func(screen string) bool) {
	p.b.t.Helper()
	p.b.until("the screen shows "+what, func() bool { return shows(p.screen()) })
}

// situation is one way in which an agent in a terminal stands when it was
// stopped.
type situation struct {
	name string
	play func(t *testing.T, b *box, row *result)
}

// stopped brings an agent in a terminal to the point where the provider has
// refused it.
func (b *box) stopped(answer agenttest.Answer, row *result) (*pane, view.Session, []agenttest.Request) {
	b.t.Helper()
	row.provider = string(answer.Kind())
	b.start(b.config())
	b.provider.Script(b.step("one"), answer)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	p := b.talk(prompt)
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling, resume.Parked)
	row.said = saw(s)
	before := b.refused()
	require.NotEmpty(b.t, b.done(), "the agent had begun")
	return p, s, before
}

// shellWords quotes arguments for a shell.
func shellWords(argv []string) string {
	var words []string
	for _, arg := range argv {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// set adds a setting to those of Claude Code.
func (b *box) set(key string, value any) {
	b.t.Helper()
	b.writeJSON(".claude/settings.json", map[string]any{"permissions": map[string]any{"allow": []string{"Bash"}}, key: value})
}

// behindMenu is Claude Code asking what to do about the limit.
func behindMenu(t *testing.T, b *box, row *result) {
	b.set("autoContinueAtUsageLimit", false)
	p, s, before := b.stopped(agenttest.UsageLimit(8*time.Second), row)
	require.Equal(t, limit.UsageLimit, s.Class)
	p.until("the menu", func(screen string) bool { return strings.Contains(screen, "What do you want to do?") })
	b.finished(s, before, 1, once)
	row.did, row.outcome = "closed the menu and typed the prompt once", "finished"
}

// What Claude Code does in a terminal when it was stopped, and what the daemon
// must make of it.
var (
	idle = situation{"live and idle", func(t *testing.T, b *box, row *result) {
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		pid := p.pid()
		require.Equal(t, limit.Overloaded, s.Class)
		b.finished(s, before, 1, once)
		require.Equal(t, pid, p.pid(), "the same process")
		row.did, row.outcome = "typed the prompt once", "finished"
	}}

	menu = situation{"live with the limit's menu open", behindMenu}

	small = situation{"the same in a small terminal", func(t *testing.T, b *box, row *result) {
		b.columns, b.rows = 40, 10
		behindMenu(t, b, row)
	}}

	vim = situation{"live with vim's keys", func(t *testing.T, b *box, row *result) {
		b.backoff = patient
		b.set("editorMode", "vim")
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		p.until("INSERT", func(screen string) bool { return strings.Contains(screen, "-- INSERT --") })
		p.press("Escape")
		p.until("nothing of NORMAL", func(screen string) bool { return !strings.Contains(screen, "-- INSERT --") })
		b.until("the daemon sees it", func() bool {
			s, _ := b.session()
			return strings.Contains(s.Reason, "vim's NORMAL mode")
		})
		b.mustStayQuiet(before, 0)
		p.press("i")
		_, err := b.ask("retry", "--now", s.ID)
		require.NoError(t, err)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "nothing in NORMAL, and typed the prompt once in INSERT", "finished"
	}}

	armed = situation{"live and continuing by itself", func(t *testing.T, b *box, row *result) {
		p, s, before := b.stopped(agenttest.UsageLimit(8*time.Second), row)
		require.Equal(t, limit.UsageLimit, s.Class)
		p.until("its own continuation", func(screen string) bool { return strings.Contains(strings.ToLower(screen), "continuing automatically") })
		b.provider.Script(b.step("two"), agenttest.Text("All done."))
		b.finished(s, before, 0, prompts{"continue": 0, prompt: 1})
		row.did, row.outcome = "stood aside", "finished by itself"
	}}

	drafted = situation{"live with half a prompt typed", func(t *testing.T, b *box, row *result) {
		b.backoff = patient
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		p.write("half a thought")
		p.until("the draft", func(screen string) bool { return strings.Contains(screen, "half a thought") })
		b.mustStayQuiet(before, 0)
		require.Contains(t, p.screen(), "half a thought", "a person's words are left alone")
		p.press("C-u")
		p.until("no draft", func(screen string) bool { return !strings.Contains(screen, "half a thought") })
		_, err := b.ask("retry", "--now", s.ID)
		require.NoError(t, err)
		b.finished(s, before, 1, prompts{"continue": 1, "half a thought": 0})
		row.did, row.outcome = "nothing, and typed once the draft was gone", "finished"
	}}

	busy = situation{"live and a person was faster", func(t *testing.T, b *box, row *result) {
		b.backoff = patient
		p, _, before := b.stopped(agenttest.Overloaded(), row)
		b.provider.Script(agenttest.StuckStream())
		p.write("go on then")
		p.press("Enter")
		b.until("the agent is at work", func() bool { return len(b.provider.Requests()) == len(before)+1 })
		b.mustStayQuiet(b.provider.Requests(), 0)
		require.NotContains(t, p.screen(), "continue", "nothing is typed into a turn")
		row.did, row.outcome = "nothing", "left alone"
	}}

	plain = situation{"live in a plain terminal", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.KindOverloaded)
		b.start(b.config())
		b.provider.Script(b.step("one"), agenttest.Overloaded())
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		argv := b.kit.talk(prompt)
		argv[0] = filepath.Join(b.bin, argv[0])
		agent := b.launch("sh", "-c", `sleep 600 | script -qfc "stty cols 100 rows 30; exec $1" /dev/null`, "sh", shellWords(argv))
		s := b.untilState(resume.Waiting, resume.Resuming)
		row.said = saw(s)
		b.until("the daemon says that it cannot be reached", func() bool {
			s, _ := b.session()
			return s.State == resume.Waiting && s.Owner != nil && strings.Contains(s.Unreached, "it is not in tmux")
		})
		before := b.refused()
		b.mustStayQuiet(before, 0)
		require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, syscall.SIGKILL), "its window is closed")
		agent.wait(t)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "told a person, and continued once, when its window was closed", "finished"
	}}

	quit = situation{"quit by /exit after a limit", func(t *testing.T, b *box, row *result) {
		b.plain = true
		b.set("autoContinueAtUsageLimit", false)
		p, s, before := b.stopped(agenttest.UsageLimit(20*time.Second), row)
		b.reload(strings.Replace(b.config(), "[resume]", "[resume]\nclosed = \"leave\"", 1))
		b.until("the daemon says that it is left to who quits it", func() bool {
			s, _ := b.session()
			return strings.Contains(s.Unreached, "if you quit it, resumed leaves it to you")
		})
		p.until("the menu", func(screen string) bool { return strings.Contains(screen, "What do you want to do?") })
		p.press("Escape")
		p.until("no menu", func(screen string) bool { return !strings.Contains(screen, "What do you want to do?") })
		p.write("/exit")
		p.until("the command", func(screen string) bool { return strings.Contains(screen, "/exit") })
		p.press("Enter")
		left := b.untilState(resume.Parked)
		require.Contains(t, left.Reason, "you closed it")
		b.mustStayQuiet(before, 0)
		b.reload(b.config())
		b.finished(s, before, 1, once)
		row.did, row.outcome = "left it, as was asked for, and continued it once when that was not wanted any more", "finished"
	}}

	dead = situation{"the terminal was killed", func(_ *testing.T, b *box, row *result) {
		p, s, before := b.stopped(agenttest.UsageLimit(15*time.Second), row)
		p.kill()
		b.finished(s, before, 1, once)
		row.did, row.outcome = "continued once, without a terminal", "finished"
	}}
)
