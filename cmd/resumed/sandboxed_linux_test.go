package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// boxed is the beginning of a command in bubblewrap: it can write no file, has no network and its own namespaces.
func boxed(t *testing.T) []string {
	argv := []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent", "--"}
	if out, err := exec.Command(argv[0], append(argv[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: PROGRAMS IN A SANDBOX ARE NOT TESTED HERE: bwrap does not work: %v: %s", err, out)
	}
	return argv
}

// escape stands in for a program that an agent put into its project. Outside of the sandbox it can write.
const escape = `#!/usr/bin/env node
echo "$*" 2>/dev/null >> "$HOME/escaped"
case " $* " in *" -p "*) exit;; esac
while [ ! -e "$HOME/gone" ]; do sleep 0.05; done
`

// startBoxed runs a command in the sandbox, in the session's directory, until the returned function is called.
func (b *leashBox) startBoxed(sandbox []string, argv ...string) (end func()) {
	b.t.Helper()
	cmd := exec.Command(sandbox[0], append(sandbox[1:], argv...)...)
	cmd.Dir, cmd.Env = b.path("bot"), append(b.env(), "PATH="+b.path("node20/bin")+":"+os.Getenv("PATH"))
	require.NoError(b.t, cmd.Start())
	b.until("it runs", func() bool { return b.runs("./claude") != 0 })
	return func() {
		b.write("gone", "")
		require.NoError(b.t, cmd.Wait())
	}
}

// What an agent runs in a sandbox, under its own name and in the session's directory, is neither the program that
// continues the session nor its start.
func TestAProgramInASandboxNeverContinuesASession(t *testing.T) {
	sandbox := boxed(t)
	for name, argv := range map[string][]string{
		"a script":                         {"./claude", "--max-turns", "9"},
		"by the session's id":              {"./claude", "--resume", claudeSession},
		"behind another program":           {"sh", "-c", "timeout 5m ./claude --max-turns 9; true"},
		"behind a script of the same name": {"sh", "-c", "./wrap/claude --max-turns 9; true"},
		"in a sandbox of its own":          {"sh", "-c", "unshare --user ./claude --max-turns 9; true"},
	} {
		for when, inPlace := range map[string]bool{"beside the session's process": false, "in the place of the session's process": true} {
			t.Run(name+", "+when, func(t *testing.T) {
				b := newLeashBox(t)
				b.install("bin/claude", escape)
				b.install("bot/claude", escape)
				b.install("bot/wrap/claude", "#!/bin/sh\n./claude \"$@\"\ntrue\n")
				b.start()
				b.steer("pause")
				end := b.startBoxed(sandbox, argv...)
				if inPlace { // as if it was the session's
					b.register(b.runs("./claude"))
					b.prompted()
					b.until("it is known", func() bool { return b.anySession().Started.Sandbox != nil })
					require.Empty(t, b.anySession().Program)
				} else {
					b.register(b.hold(nil, "claude", "--max-turns", "3"))
					b.prompted()
					b.untilSeen("3")
					b.release()
				}
				b.stopped()
				b.untilState(claudeSession, resume.Waiting)
				b.steer("unpause")
				b.until("it is seen", func() bool { return strings.Contains(b.session(claudeSession).Reason, "process ") })
				end()
				b.until("it is decided", func() bool {
					return b.exists("escaped") || b.exists("ran") || b.session(claudeSession).State == resume.Parked
				})
				require.NoFileExists(t, b.path("escaped"))
				if inPlace {
					require.Regexp(t, "^"+b.path("bot/claude")+" would continue it|^it ran in a sandbox", b.session(claudeSession).Reason)
					return
				}
				require.Equal(t, []string{"3"}, b.ran()[slices.Index(b.ran(), "--max-turns")+1:][:1])
				require.Equal(t, b.claude+"\n", b.read("ran"))
			})
		}
	}
}

// The agent can change a program of its project: its user is asked once, as soon as the session is stopped.
func TestAProgramOfTheProjectContinuesASessionAfterItsUsersWord(t *testing.T) {
	b := newLeashBox(t)
	b.install("bot/node_modules/claude-code/claude", fmt.Sprintf(heldClaude, claudeSession, claudeTranscript))
	require.NoError(t, os.MkdirAll(b.path("bot/node_modules/.bin"), 0o755))
	require.NoError(t, os.Symlink("../claude-code/claude", b.path("bot/node_modules/.bin/claude")))
	b.claude = b.path("bot/node_modules/.bin/claude")
	b.start()
	stops := func(turns string) {
		b.register(b.hold(nil, "claude", "--max-turns", turns))
		b.prompted()
		b.untilSeen(turns) // and not the process before it
		b.release()
		b.stopped()
	}
	stops("3")
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, b.claude+" would continue it, and lies below its directory, where the agent can change it")
	out, errOut, code := b.run("status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "a program of its project")
	require.Zero(t, parked.Attempt)
	require.NoFileExists(t, b.path("ran"))

	_, errOut, code = b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, b.ran(), "3")
	b.untilOver(claudeSession)
	stops("4")
	b.until("it is continued without a question", func() bool { return strings.Count(b.read("ran"), "\n") == 2 })
	b.untilOver(claudeSession)

	b.install("bot/node_modules/claude-code/other", fmt.Sprintf(heldClaude, claudeSession, claudeTranscript))
	require.NoError(t, os.Rename(b.path("bot/node_modules/claude-code/other"), b.path("bot/node_modules/claude-code/claude")))
	stops("5")
	b.untilState(claudeSession, resume.Parked)
	require.Equal(t, 2, strings.Count(b.read("ran"), "\n"), "it was replaced")
}
