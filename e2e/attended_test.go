package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// attach is a person at the keyboard of the pane: in tmux, what it is called with is typed by a client.
func (p *pane) attach() (types func(keys string)) {
	p.b.t.Helper()
	if p.b.types != nil {
		return p.b.types
	}
	attach := p.command("attach", "-t", "e2e")
	client := exec.Command("script", "-qec", shellWords(attach.Args), "/dev/null")
	client.Env, client.Dir = append(attach.Env, "TERM=xterm-256color"), attach.Dir
	keys, err := client.StdinPipe()
	require.NoError(p.b.t, err)
	require.NoError(p.b.t, client.Start())
	p.b.t.Cleanup(func() { _ = keys.Close(); _ = client.Process.Kill(); _ = client.Wait() })
	p.b.until("a person looks at it", func() bool {
		out, _ := p.command("list-clients").Output()
		return len(out) > 0
	})
	return func(text string) { _, _ = fmt.Fprint(keys, text) }
}

// slash gives Claude Code a command of its own.
func (p *pane) slash(command string) {
	p.b.t.Helper()
	p.write(command)
	p.until(command, func(screen string) bool {
		return strings.Contains(screen, "❯\u00a0"+command) || strings.Contains(screen, "❯ "+command)
	})
	time.Sleep(500 * time.Millisecond) // its list of commands is drawn after it
	p.press("Enter")
}

var (
	together = situation{"live and a person types in the same second", func(_ *testing.T, b *box, row *result) {
		b.backoff = 15 * time.Second
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		types := p.attach()
		due := time.Now().Add(b.backoff)
		if at := b.latest.NextAt; at != nil {
			due = *at
		}
		time.Sleep(time.Until(due.Add(time.Duration(rand.IntN(1200)) * time.Millisecond)))
		for _, key := range "wait a moment" {
			types(string(key))
			time.Sleep(time.Duration(30+rand.IntN(100)) * time.Millisecond)
		}
		sent := func() bool { return strings.Contains(b.log.String(), "msg=typed ") }
		b.until("the daemon has typed, or gave way", func() bool {
			s, _ := b.session()
			return sent() || strings.Contains(s.Reason, "keyboard") || strings.Contains(s.Reason, "began to type") || strings.Contains(s.Reason, "draft")
		})
		p.until("what the person typed", func(screen string) bool {
			return strings.Contains(screen, "❯\u00a0wait a moment") || strings.Contains(screen, "❯ wait a moment")
		})
		row.did = "typed the prompt once, before the person began"
		if !sent() {
			row.did = "gave way, and typed once the draft was gone"
			types("\x15")
			p.until("no draft", func(screen string) bool { return !strings.Contains(screen, "wait a moment") })
			b.until("it is continued", sent)
		}
		b.finished(s, before, 1, prompts{"continue": 1, "wait a moment": 0})
		row.outcome = "finished"
	}}

	permits = situation{"live and asks for a permission afterwards", func(t *testing.T, b *box, row *result) {
		b.kit.ask(b)
		b.kit.talk = func(prompt string) []string { return []string{"claude", "--permission-mode", "default", prompt} }
		row.provider = string(agenttest.KindOverloaded)
		b.start(b.config())
		b.provider.Script(agenttest.Overloaded())
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		p := b.talk(prompt)
		row.said = saw(b.untilState(resume.Waiting, resume.Resuming))
		s := b.untilState(resume.Parked)
		require.Equal(t, "asks for permission: Bash (echo two >> work.txt)", s.Reason)
		requests := b.provider.Requests()
		b.mustStayQuiet(requests, 1)
		require.Empty(t, b.done(), "nothing was allowed")
		p.press("1")
		b.until("it is done", func() bool { return b.done() == "two" })
		b.until("it is over", func() bool { s, _ := b.session(); return s.State == resume.Watching })
		row.did, row.outcome = "told a person, and pressed no key", "finished after the answer"
	}}

	onetime = situation{"live with a dialog that is shown once", func(t *testing.T, b *box, row *result) {
		b.backoff = patient
		b.writeJSON(".claude/settings.json", map[string]any{"permissions": map[string]any{"defaultMode": "default", "allow": []string{"Bash"}}})
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		p.until("the dialog", func(screen string) bool { return strings.Contains(screen, "Make auto mode your default") })
		b.until("the daemon tells of it", func() bool {
			s, _ := b.session()
			return strings.Contains(s.Reason, "a dialog is open in its terminal (Make auto mode your default")
		})
		b.mustStayQuiet(before, 0)
		p.press("Down", "Enter")
		p.until("no dialog", func(screen string) bool { return !strings.Contains(screen, "Make auto mode your default") })
		_, err := b.ask("retry", "--now", s.ID)
		require.NoError(t, err)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "told a person, and typed once it was answered", "finished"
	}}

	commands = situation{"live after /context and /model", func(_ *testing.T, b *box, row *result) {
		b.backoff, b.rows = 20*time.Second, 24
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		p.slash("/context")
		p.until("its output", func(screen string) bool { return strings.Contains(screen, "Context Usage") })
		p.slash("/model")
		p.until("the dialog", func(screen string) bool { return strings.Contains(screen, "Select model") })
		p.press("Escape")
		p.until("no dialog", func(screen string) bool { return !strings.Contains(screen, "Select model") })
		b.finished(s, before, 1, once)
		row.did, row.outcome = "typed the prompt once", "finished"
	}}

	cleared = situation{"left with /clear", func(t *testing.T, b *box, row *result) {
		b.backoff = 25 * time.Second
		p, s, before := b.stopped(agenttest.Overloaded(), row)
		p.slash("/clear")
		left := b.untilState(resume.Watching)
		require.Equal(t, s.ID, left.ID)
		require.Equal(t, "left by you with /clear", left.Reason)
		b.mustStayQuiet(before, 0)
		row.did, row.outcome = "nothing", "left alone"
	}}
)
