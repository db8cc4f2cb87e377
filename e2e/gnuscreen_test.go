package e2e

import (
	"path/filepath"
	"testing"

	"resumed/internal/terminal/screentest"
)

// talkInScreen starts the agent on a new session in a window of GNU screen.
func (b *box) talkInScreen(prompt string) *pane {
	b.t.Helper()
	argv := b.kit.talk(prompt)
	argv[0] = filepath.Join(b.bin, argv[0])
	b.screen = screentest.Start(b.t, b.work, append(b.env(), "PWD="+b.work), argv...)
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

	menuInScreen = situation{"live in GNU screen with the limit's menu open", func(t *testing.T, b *box, row *result) {
		b.inScreen = true
		behindMenu(t, b, row)
	}}
)
