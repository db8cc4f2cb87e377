package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/shellinit"
)

// shellBox is a user of a shell that has the line in its file, and an agent that prints its arguments.
type shellBox struct {
	*box
	shell shellinit.Shell
}

var shellFiles = map[string]string{"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}

func newShellBox(t *testing.T, name string) *shellBox {
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("THE FUNCTIONS OF " + name + " ARE NOT TESTED HERE: there is no " + name)
	}
	b := &shellBox{box: newBox(t)}
	b.shell, _ = shellinit.Find(name)
	b.write("bin/claude", "#!/bin/sh\nprintf '[%s]' claude \"$@\"\necho\n")
	b.write("bin/resumed", "#!/bin/sh\n[ \"$2\" = --init ] && exec "+b.binary+" \"$@\"\nprintf '[%s]' resumed \"$@\"\necho\nexit 7\n")
	b.rc("")
	return b
}

// rc writes the shell's file: what the user has there, and the line.
func (b *shellBox) rc(mine string) { b.write(shellFiles[b.shell.Name], mine+"\n"+b.shell.Line+"\n") }

// typed returns what a command line shows in an interactive shell.
func (b *shellBox) typed(line string) string {
	b.t.Helper()
	if b.shell.Name == "fish" { // it gives the terminal to a pipe that has ended already, now and then, and hangs
		line = "status job-control none; " + line
	}
	s := b.onScreen(b.shell.Name, "-ic", line+"; echo END")
	s.untilShown("END\r\n")
	shown, _, _ := strings.Cut(s.text(), "END\r\n")
	return shown
}

func TestShellFunctions(t *testing.T) {
	t.Parallel()
	for _, name := range shellinit.Names() {
		t.Run(name, func(t *testing.T) {
			b := newShellBox(t, name)
			require.Contains(t, b.typed(`claude 'a  b' "it's" '' '*' '$HOME' -- --init`), "[resumed][shell][claude][a  b][it's][][*][$HOME][--][--init]\r\n",
				"every argument arrives as it is")
			code := "$?"
			if name == "fish" {
				code = "$status"
			}
			require.Contains(t, b.typed(`claude; echo "code $(echo `+code+`)"`), "code 7", "the exit code too")
			require.Contains(t, b.typed(`command claude 'a b'`), "[claude][a b]\r\n", "it can be gone round")
			require.NotContains(t, b.typed(`command claude`), "resumed")
			require.Equal(t, "[claude][a b]\r\n", b.typed(`claude 'a b' | cat`), "a pipe is no terminal")
			require.Equal(t, "[claude]\r\n", b.typed(`echo x | claude`))
			require.NotContains(t, b.typed(`type codex`), "function", "only for agents that are there")

			for _, variable := range []string{"TMUX", "RESUMED_SHELL"} {
				b.vars = []string{variable + "=x"}
				require.NotContains(t, b.typed(`claude 'a b'`), "resumed", variable)
			}
			b.vars = nil
			require.Contains(t, b.typed(fmt.Sprintf(`rm %s; claude 'a b'`, b.path("bin/resumed"))), "[claude][a b]\r\n", "resumed was removed")
		})
	}
}

// What the user has under that name goes on to work.
func TestShellFunctionsLeaveTheUsersOwn(t *testing.T) {
	t.Parallel()
	for _, name := range shellinit.Names() {
		t.Run(name, func(t *testing.T) {
			b := newShellBox(t, name)
			if name == "fish" {
				b.rc("function claude; echo mine $argv; end")
			} else {
				b.rc("claude() { echo mine \"$@\"; }")
			}
			require.Equal(t, "mine x\r\n", b.typed("claude x"))
			if name != "fish" { // where an alias is a function
				b.rc("alias claude='claude --mine'")
				require.Equal(t, "[resumed][shell][claude][--mine][x]\r\n", b.typed("claude x"))
			}
		})
	}
}

// Scripts are not changed, not even those that read the file.
func TestShellFunctionsAreForPeople(t *testing.T) {
	t.Parallel()
	for _, name := range shellinit.Names() {
		t.Run(name, func(t *testing.T) {
			b := newShellBox(t, name)
			s := b.onScreen(name, "-c", ". "+b.path(shellFiles[name])+"; claude x; echo END")
			s.untilShown("END\r\n")
			require.Contains(t, s.text(), "[claude][x]\r\n")
			require.NotContains(t, s.text(), "resumed")
		})
	}
}

func TestShellInitWithoutWhatItNeeds(t *testing.T) {
	b := newBox(t)
	b.vars = append(b.vars, "PATH=/usr/bin:/bin")
	out, errOut, code := b.run("shell", "--init", "bash")
	require.Zero(t, code, errOut)
	require.Empty(t, out, "there is no agent")
	require.Empty(t, errOut, "a shell that starts is not disturbed")
	newTerminal(b, 80, 24, nil, "shell", "--init", "bash").shows("resumed: no agent is installed, so there is no function to print")
	for _, args := range [][]string{{"tcsh"}, {""}, {"bash", "claude"}} {
		_, errOut, code = b.run(append([]string{"shell", "--init"}, args...)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errOut, "--init takes one of bash, zsh, fish")
	}
}

// install shows the line, adds it only if a person says so, and uninstall takes out that line alone.
func TestInstallOffersTheShellFunctions(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257 (257.7-1)")
	b.write("bin/claude", "#!/bin/sh\n")
	b.vars = append(b.vars, "SHELL=/bin/bash")
	const mine = "export A=1\n# eval \"$(resumed shell --init bash)\"\nlast"
	b.write("dotfiles/bashrc", mine)
	require.NoError(t, os.Symlink("dotfiles/bashrc", b.path(".bashrc")))
	require.NoError(t, os.Chmod(b.path("dotfiles/bashrc"), 0o600))
	const line = `eval "$(resumed shell --init bash)"`
	offer := "With this line in " + b.path("dotfiles/bashrc") + ", resumed can type into your agents in every terminal:\n  " + line + "\n"

	out, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	require.Contains(t, out, offer)
	require.NotContains(t, out, "[y/N]")
	out, _, _ = b.run("install", "--dry-run")
	require.NotContains(t, out, line)
	for answer, want := range map[string]string{"n\r": mine, "\r": mine} {
		s := b.onScreen(b.binary, "install")
		s.untilShown("Add it? [y/N] ")
		s.press(answer)
		require.Zero(t, s.code(), s.text())
		require.Equal(t, want, b.read(".bashrc"))
	}
	s := b.onScreen(b.binary, "install")
	s.untilShown("Add it? [y/N] ")
	s.press("y\r")
	require.Zero(t, s.code(), s.text())
	require.Equal(t, mine+"\n"+line+"\n", b.read("dotfiles/bashrc"), "the file behind the link")
	out, _, _ = b.run("install")
	require.NotContains(t, out, line, "it is there")

	out, _, _ = b.run("uninstall", "--dry-run")
	require.Contains(t, out, "# take the line of resumed shell out of "+b.path("dotfiles/bashrc"))
	require.Contains(t, b.read(".bashrc"), "\n"+line)
	out, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "took the line of resumed shell out of "+b.path("dotfiles/bashrc"))
	require.Equal(t, mine+"\n", b.read(".bashrc"))
	info, err := os.Lstat(b.path(".bashrc"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(b.path(".bashrc"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	b.vars = append(b.vars, "SHELL=/bin/tcsh")
	out, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "--init")
}
