package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"resumed/internal/terminal/kittytest"
)

// talkInKitty starts the agent on a new session in a window of kitty. What kitty says of
// itself (TERM) is left: agents ask it for other keys than they have elsewhere.
func (b *box) talkInKitty(prompt string) *pane {
	b.t.Helper()
	argv := b.kit.talk(prompt)
	argv[0] = filepath.Join(b.bin, argv[0])
	env := slices.DeleteFunc(b.env(), func(entry string) bool { return strings.HasPrefix(entry, "TERM=") })
	p := &pane{b: b, window: b.kitty.Launch(b.work, append(env, "PWD="+b.work), argv...)}
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("screen:\n%s", p.screen())
		}
	})
	return p
}

var (
	inKitty = situation{"live in kitty", func(t *testing.T, b *box, row *result) {
		b.kitty = kittytest.Start(t)
		idle.play(t, b, row)
	}}

	menuInKitty = situation{"live in kitty with the limit's menu open", func(t *testing.T, b *box, row *result) {
		b.kitty = kittytest.Start(t)
		behindMenu(t, b, row)
	}}
)
