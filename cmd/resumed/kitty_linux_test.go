package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/terminal/kittytest"
)

// A session in a window of kitty is typed into like one in tmux. One kitty serves all situations: it
// takes a second to start.
func TestASessionInKitty(t *testing.T) {
	t.Parallel()
	k := kittytest.Start(t)
	self, err := os.Executable()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change  func(*standIn)
		command []string
		state   resume.State
		why     string
		keys    string
	}{
		"an idle prompt is typed into, once": {state: resume.Watching, keys: "continue\r"},
		"the limit's menu is closed first": {
			change: func(s *standIn) { s.Screen, s.Status, s.AfterMenu = "usage-weekly-menu", "waiting", "529-final" },
			state:  resume.Watching, keys: "\x1bcontinue\r",
		},
		"a draft is never touched": {
			change: func(s *standIn) { s.Draft = "wait, I" }, state: resume.Waiting, why: "nobody sent",
		},
		"a program that does not show what is typed gets no Enter": {
			change: func(s *standIn) { s.Deaf = true }, state: resume.Parked, why: "Enter was not pressed", keys: "continue",
		},
		"a terminal within the window is not typed into": {
			command: []string{"script", "-qec", self, "/dev/null"}, state: resume.Waiting, why: "another terminal than its kitty window",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			s := b.standIn()
			if c.change != nil {
				c.change(&s)
			}
			if c.command == nil {
				c.command = []string{self}
			}
			b.windows++
			k.Launch(s.Cwd, append(b.env(), standInVariable(t, s)), c.command...)
			b.awaitRegistered(s)
			b.start()
			b.overloaded()
			b.until("it stands as it should", func() bool {
				view := b.session(liveID)
				return view.State == c.state && strings.Contains(view.Reason, c.why)
			})
			require.Equal(t, c.keys, b.keys())
			require.Equal(t, strings.Count(c.keys, "\r"), b.prompts())
			require.Empty(t, b.read("runs"), "nothing runs beside it")
			if c.keys == "" {
				require.NoError(t, syscall.Kill(b.registeredPID(), syscall.SIGKILL))
				b.untilState(liveID, resume.Watching)
				require.Equal(t, 1, strings.Count(b.read("runs"), "\n"), "when it is closed it is continued, once")
			}
		})
	}
}

// For a kitty without remote control, a person is told what to change.
func TestAKittyThatTakesNoRemoteControlIsToldOf(t *testing.T) {
	b := newLiveBox(t)
	b.vars = append(b.vars, "KITTY_WINDOW_ID=1")
	const helps = "put `allow_remote_control socket-only` and `listen_on unix:@kitty` into kitty.conf"
	b.alone(b.standIn(), "claude")
	b.start()
	b.overloaded()
	b.until("it is told of", func() bool {
		return strings.Contains(b.session(liveID).Unreached, "takes no remote control; next time "+helps+", or start it with `resumed shell claude`")
	})
	out, _, _ := b.run("doctor")
	require.Contains(t, out, "takes no remote control")
	require.Contains(t, out, helps)

	b.vars = append(b.vars, "KITTY_LISTEN_ON=unix:"+filepath.Join(b.dir, "nowhere"))
	out, _, _ = b.run("doctor")
	require.Contains(t, out, "its kitty is gone")
	require.Empty(t, b.keys())
}
