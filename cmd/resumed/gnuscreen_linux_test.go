package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/terminal/screentest"
)

// A session in a window of GNU screen is typed into like one in tmux.
func TestASessionInGNUScreen(t *testing.T) {
	t.Parallel()
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
			command: []string{"script", "-qec", self, "/dev/null"}, state: resume.Waiting, why: "another terminal than its window of GNU screen",
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
			screentest.Start(t, s.Cwd, append(b.env(), standInVariable(t, s)), c.command...)
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

// In GNU screen doctor says whether an agent there can be typed into.
func TestDoctorTellsOfGNUScreen(t *testing.T) {
	b := newLiveBox(t)
	out := filepath.Join(b.dir, "out")
	screentest.Start(t, b.dir, b.env(), "sh", "-c", b.binary+" doctor > "+out+".part; mv "+out+".part "+out+"; exec sleep 1000")
	b.until("it has said something", func() bool { _, err := os.Stat(out); return err == nil })
	said, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `screen\s+remote control works here`, string(said))

	b.vars = append(b.vars, "STY=4194999.gone", "WINDOW=0")
	told, _, _ := b.run("doctor")
	require.Contains(t, told, "resumed cannot type into an agent in this GNU screen: its GNU screen is gone")
}
