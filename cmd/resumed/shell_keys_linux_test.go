package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/sanitize"
	"resumed/internal/terminal/shellpty"
)

// An agent that was turned against its user by a text that it reads must neither answer its own questions nor read
// the screen: only the daemon types, and only what a resume needs.
func TestShellKeys(t *testing.T) {
	box := []string{"unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"}
	lost := []string{"setsid", "--fork", "setsid", "--fork"}
	for name, c := range map[string]struct { // short names: they are in the path of sockets
		through []string // what starts it
		outside bool     // it is started elsewhere, not by the agent
		daemon  bool     // one runs
		listens bool     // on the daemon's socket
		refused string   // "": it is taken for the daemon
	}{
		"a child of the agent":      {refused: "no daemon listens on its socket"},
		"one beside a daemon":       {daemon: true, refused: "not the process that listens"},
		"one in a box":              {through: box, daemon: true, refused: "not the process that listens"},
		"one that lost its parents": {through: lost, daemon: true, refused: "not the process that listens"},
		"one in the daemon's place": {listens: true, refused: "was started in this terminal"},
		"an orphan in its place":    {through: lost, daemon: true, listens: true, refused: "was started in this terminal"},
		"a box in its place":        {through: append(lost[:2:2], box...), listens: true, refused: "was started in this terminal"},
		"another process":           {outside: true, daemon: true, refused: "not the process that listens"},
		"another box in its place":  {outside: true, through: box, listens: true, refused: "is restricted: mounts, processes, users, network"},
		"the daemon":                {outside: true, listens: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLiveBox(t)
			if c.daemon {
				b.start()
			}
			self, err := os.Executable()
			require.NoError(t, err)
			asker := append(append([]string{}, c.through...), self)
			env := []string{askerEnv + "=" + b.path("answers")}
			if c.listens {
				env = append(env, listensEnv+"="+b.path("runtime", "resumed", control.SocketName))
			}
			begin := ":"
			if !c.outside {
				begin = "env " + strings.Join(append(env, asker...), " ")
			}
			s := b.sit(nil, b.binary, "shell", "sh", "-c", fmt.Sprintf(
				"stty raw -echo; printf READY; %s & head -c 1 > %s; until [ -e %s ]; do sleep 0.1; done", begin, b.path("got"), b.path("answers")))
			s.untilShown("READY")
			if c.outside {
				sockets, err := filepath.Glob(b.path("runtime", "resumed", "shells", "*"))
				require.NoError(t, err)
				require.Len(t, sockets, 1)
				cmd := exec.Command(asker[0], asker[1:]...)
				cmd.Env = append(append(os.Environ(), env...), shellpty.Variable+"="+sockets[0])
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			b.until("it has its answers", func() bool { return b.read("answers") != "" })
			if c.refused != "" {
				require.Empty(t, b.read("got"))
				s.types("x")
			}
			require.Zero(t, s.code())
			var answers []shellpty.Answer
			for line := range strings.Lines(b.read("answers")) {
				var a shellpty.Answer
				require.NoError(t, json.Unmarshal([]byte(line), &a))
				require.NotZero(t, a.PID)
				answers = append(answers, a)
			}
			require.Len(t, answers, 8)
			require.Empty(t, answers[0].Refused, "which agent it is, every process of the user can see")
			if c.refused == "" {
				require.Contains(t, answers[2].Screen, "READY")
				for _, a := range answers[3:7] {
					require.NotEmpty(t, a.Failed)
				}
				require.Equal(t, "y", b.read("got"), "nothing before it was typed")
				require.NotContains(t, s.text(), "refused")
				return
			}
			for _, a := range answers[1:] {
				require.Contains(t, a.Refused, c.refused)
				require.Equal(t, shellpty.Answer{PID: a.PID, TTY: a.TTY, Program: a.Program, Refused: a.Refused}, a)
			}
			require.Equal(t, "x", b.read("got"))
			s.untilShown("resumed: processes wanted to read this terminal or type into it 7 times, and were refused; the first was process ")
			s.untilShown(fmt.Sprintf("(%s): %s", sanitize.Short(filepath.Base(self), 100), answers[1].Refused))
		})
	}
}
