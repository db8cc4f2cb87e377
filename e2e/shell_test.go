package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/terminal/shellpty"
)

// What Claude Code does in a resumed shell, in a terminal that nothing else can type into.
var (
	inShell = situation{"live in a resumed shell", func(t *testing.T, b *box, row *result) {
		b.shell = true
		idle.play(t, b, row)
	}}

	menuInShell = situation{"live in a resumed shell with the limit's menu open", func(t *testing.T, b *box, row *result) {
		b.shell = true
		behindMenu(t, b, row)
	}}

	tour = situation{"what a resumed shell sees of its screens", func(t *testing.T, b *box, row *result) {
		b.shell, b.backoff = true, patient
		p, s, _ := b.stopped(agenttest.Overloaded(), row)
		require.Equal(t, limit.Overloaded, s.Class)
		b.inPlaceOfTheDaemon()
		row.did, row.outcome = "nothing", fmt.Sprintf("%d screens are the same", p.tour())
	}}
)

// inPlaceOfTheDaemon stops the daemon and listens on its socket: nobody else is shown the screens of a resumed shell.
func (b *box) inPlaceOfTheDaemon() {
	b.t.Helper()
	require.NoError(b.t, b.proc.Process.Signal(syscall.SIGTERM))
	_ = b.proc.Wait()
	listener, err := net.Listen("unix", b.path("runtime", "resumed", control.SocketName))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = listener.Close() })
}

// tour goes through the screens of Claude Code and compares what the daemon would read with what tmux
// shows. It returns how many there were.
func (p *pane) tour() (screens int) {
	keys := func(names ...string) func() { return func() { p.press(names...) } }
	text := func(text string) func() { return func() { p.write(text) } }
	size := func(columns, rows string) func() {
		return func() {
			require.NoError(p.b.t, p.command("resize-window", "-t", "e2e", "-x", columns, "-y", rows).Run())
		}
	}
	clearField := keys("C-u")
	for _, act := range []func(){
		func() {}, text("/"), text("mo"), keys("Escape"), clearField, text("?"), keys("BSpace"),
		text("/model"), keys("Enter"), keys("Down"), keys("Escape"), text("/help"), keys("Enter"), keys("Right"), keys("Escape"),
		text("/config"), keys("Enter"), keys("Down"), keys("Escape"), text("/status"), keys("Enter"), keys("Escape"), text("/context"), keys("Enter"),
		text("漢字 テスト 🙂 é"), keys("Left", "Left", "Left"), text("x"), clearField, keys("C-u"), text("one"), keys("M-Enter"), text("two two two"), clearField, keys("BSpace"), clearField,
		text("@"), text("w"), keys("Escape"), clearField, keys("C-o"), keys("C-e"), keys("Escape"), keys("BTab"), keys("BTab"), keys("BTab"),
		text("!seq 1 30"), keys("Enter"), text(strings.Repeat("a long line ", 20)), size("60", "20"), clearField, size("40", "10"), text("/"), keys("Escape"), clearField, size("200", "50"),
		text("/cost"), keys("Enter"), keys("Escape"), size("140", "45"), text("/resume"), keys("Enter"), keys("Escape"), clearField,
	} {
		act()
		p.sameAsTmux(screens)
		screens++
	}
	return screens
}

// sameAsTmux waits until the screen is at rest, and until both see the same.
func (p *pane) sameAsTmux(n int) {
	p.b.t.Helper()
	sockets, err := filepath.Glob(p.b.path("runtime", "resumed", "shells", "*.sock"))
	require.NoError(p.b.t, err)
	require.Len(p.b.t, sockets, 1)
	window, err := shellpty.Find([]string{shellpty.Variable + "=" + sockets[0]})
	require.NoError(p.b.t, err)
	var want, got string
	for range 20 {
		before := p.screen()
		time.Sleep(300 * time.Millisecond)
		if want = p.screen(); want != before {
			continue
		}
		got, err = window.Screen(p.b.t.Context())
		require.NoError(p.b.t, err)
		got = regexp.MustCompile(`\x1b\[[\d;]*m`).ReplaceAllString(got, "")
		if want == got && want == p.screen() {
			return
		}
	}
	require.Equal(p.b.t, want, got, "screen %d", n)
}
