package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"

	"github.com/stretchr/testify/require"
)

// withLaunchctl gives the test a home and a launchctl that logs its calls and stores whether the agent
// is loaded.
func withLaunchctl(t *testing.T) (home string, orders func() []string) {
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	notes, loaded := filepath.Join(home, "orders"), filepath.Join(home, "loaded")
	script := fmt.Sprintf(`#!/bin/sh
case $1 in
print) exec test -e %[2]s ;;
bootstrap) [ -e %[3]s ] && { echo "Domain does not support specified action" >&2; exit 125; }; touch %[2]s ;;
bootout) rm %[2]s ;;
esac
echo "$*" >> %[1]s
`, notes, loaded, filepath.Join(home, "ssh"))
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "launchctl"), []byte(script), 0o700))
	return home, func() []string {
		text, _ := os.ReadFile(notes) // no calls, no file
		_ = os.Remove(notes)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// testInstaller returns an Installer that finds a daemon while the agent is loaded.
func testInstaller(home string, out io.Writer) Installer {
	return Installer{Out: out, Err: io.Discard, Status: func(context.Context, bool) (control.Status, error) {
		if !exists(filepath.Join(home, "loaded")) {
			return control.Status{}, control.ErrNoDaemon
		}
		return control.Status{}, nil
	}}
}

func TestInstallOnMacOS(t *testing.T) {
	home, orders := withLaunchctl(t)
	var out bytes.Buffer
	i := testInstaller(home, &out)
	m, err := newLaunchdAgent()
	require.NoError(t, err)
	s := spec{program: filepath.Join(home, "a & b", "resumed"), config: "/c<o>.toml", variables: []string{"PATH=/usr/bin:/opt/\"q\"", "CODEX_HOME=/x=y"}}
	plist := filepath.Join(home, "Library", "LaunchAgents", "resumed.plist")
	target := fmt.Sprintf("gui/%d/resumed", os.Getuid())

	require.NoError(t, i.install(t.Context(), m, s, true))
	require.Contains(t, out.String(), "launchctl bootstrap gui/")
	require.NoFileExists(t, plist, "a dry run does nothing")
	require.Equal(t, []string{""}, orders())

	require.NoError(t, i.install(t.Context(), m, s, false))
	text, err := os.ReadFile(plist)
	require.NoError(t, err)
	require.Equal(t, []string{
		"Label", "resumed", "ProgramArguments", s.program, "--config", "/c<o>.toml", "run",
		"EnvironmentVariables", "PATH", "/usr/bin:/opt/\"q\"", "CODEX_HOME", "/x=y",
		"StandardOutPath", filepath.Join(home, "Library/Logs/resumed.log"), "StandardErrorPath", filepath.Join(home, "Library/Logs/resumed.log"),
		"RunAtLoad", "KeepAlive", "SuccessfulExit", "ThrottleInterval", "10", "AbandonProcessGroup", "ExitTimeOut", "20",
	}, words(t, text))
	require.DirExists(t, filepath.Join(home, "Library", "Logs"))
	require.Equal(t, []string{"bootstrap " + strings.TrimSuffix(target, "/resumed") + " " + plist}, orders())

	require.NoError(t, i.install(t.Context(), m, s, false))
	require.Equal(t, []string{""}, orders(), "nothing has changed")
	s.config = ""
	require.NoError(t, i.install(t.Context(), m, s, false))
	require.Equal(t, []string{"bootout " + target, "bootstrap " + strings.TrimSuffix(target, "/resumed") + " " + plist}, orders())

	require.NoError(t, i.uninstall(t.Context(), m, true))
	require.FileExists(t, plist)
	require.NoError(t, i.uninstall(t.Context(), m, false))
	require.NoFileExists(t, plist)
	require.Equal(t, []string{"bootout " + target}, orders())
	out.Reset()
	require.NoError(t, i.uninstall(t.Context(), m, false))
	require.Equal(t, "Nothing is installed.\n", out.String())

	require.NoError(t, os.WriteFile(filepath.Join(home, "ssh"), nil, 0o600))
	require.ErrorContains(t, i.install(t.Context(), m, s, false), "Domain does not support")
	require.NoError(t, os.WriteFile(plist, []byte("<plist>somebody's own</plist>"), 0o600))
	require.ErrorContains(t, i.install(t.Context(), m, s, false), "was not made by resumed")
	require.NoError(t, i.uninstall(t.Context(), m, false))
	require.FileExists(t, plist)
}

// launchd does not wait until the daemon answers, and the daemon needs a moment to judge a session.
func TestSessionsThatWereStoppedBeforeAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unseen := view.Session{ID: "s-1", Cwd: "/src", State: resume.Parked, Needs: new(string(resume.StartUnseen))}
		reading := control.Daemon{Reading: true}
		answers := []control.Status{{}, {}, {Daemon: reading}, {Daemon: reading, Sessions: []view.Session{{ID: "s-1", State: resume.Waiting}}}, {Sessions: []view.Session{unseen, {ID: "s-2", State: resume.Waiting}}}, {Sessions: []view.Session{unseen}}}
		var out bytes.Buffer
		asked := 0
		Installer{Out: &out, Status: func(context.Context, bool) (control.Status, error) {
			asked++
			if asked <= 2 {
				return control.Status{}, control.ErrNoDaemon
			}
			return answers[asked-1], nil
		}}.tellStopped(t.Context())
		require.Equal(t, len(answers), asked)
		require.Contains(t, out.String(), "  s-1 in /src\n")
		require.Contains(t, out.String(), "  resumed retry --unseen\n")

		out.Reset()
		testInstaller("/nowhere", &out).tellStopped(t.Context())
		require.Empty(t, out.String(), "there is no daemon")
	})
}

// words returns the texts in a property list.
func words(t *testing.T, text []byte) []string {
	var all []string
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			all = append(all, string(data))
		}
	}
}
