package e2e

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"resumed/internal/terminal/screentest"
	"resumed/internal/terminal/terminaltest"
)

// talkInScreen starts the agent on a new session in a window of GNU screen.
func (b *box) talkInScreen(prompt string) *pane {
	b.t.Helper()
	argv := b.kit.talk(prompt)
	argv[0] = filepath.Join(b.bin, argv[0])
	b.screen = screentest.Start(b.t, b.work, append(b.env(), "PWD="+b.work), argv...)
	if b.attended {
		person := terminaltest.Open(b.t, b.screen.Command("-x"))
		go func() { _, _ = io.Copy(io.Discard, person) }()
		b.types = func(keys string) { _, _ = person.WriteString(keys) }
	}
	p := &pane{b: b}
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("screen:\n%s", p.screen())
		}
	})
	return p
}

var (
	inScreen = situation{"live in GNU screen", func(t *testing.T, b *box, row *result) {
		b.inScreen = true
		idle.play(t, b, row)
	}}

	// Its messages to the person who has it open must not keep the daemon from seeing the window.
	openInScreen = situation{"live in GNU screen, and a person has it open", func(t *testing.T, b *box, row *result) {
		b.inScreen, b.attended = true, true
		b.backoff = 20 * time.Second // screen has read from that person's terminal when they opened it
		idle.play(t, b, row)
	}}

	togetherInScreen = situation{"live in GNU screen, and a person types in the same second", func(t *testing.T, b *box, row *result) {
		b.inScreen, b.attended = true, true
		together.play(t, b, row)
	}}

	menuInScreen = situation{"live in GNU screen with the limit's menu open", func(t *testing.T, b *box, row *result) {
		b.inScreen = true
		behindMenu(t, b, row)
	}}
)
