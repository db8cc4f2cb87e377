package custom

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// logbot writes one log for all sessions, and a file for each.
func logbot(dir string) Options {
	o := mybot(dir)
	o.Session = `id=(?P<session>\S+)|^works in (?P<cwd>\S+)`
	o.Cwd = ""
	o.About = filepath.Join(dir, "sessions", "*", "{session}.txt")
	o.Limit = []string{`end=(?P<text>(?P<rate_limit>slow)|(?P<auth>login)|(?P<cancelled>stop)|(?P<none>done))`}
	return o
}

func TestAGroupCalledAsAClassGivesIt(t *testing.T) {
	a := newAgent(t, logbot("/logs"))
	for line, want := range map[string]limit.Class{"id=a end=slow": limit.RateLimit, "id=a end=login": limit.Auth} {
		o, ok := observe(a, "/logs/all.log", line)
		require.True(t, ok)
		limited := o.Event.(resume.Limited)
		require.Equal(t, want, limited.Verdict.Class)
		require.Equal(t, line[len("id=a end="):], limited.Text, "what is shown is the group text")
	}
	o, ok := observe(a, "/logs/all.log", "id=a end=stop")
	require.True(t, ok)
	require.IsType(t, resume.Cancelled{}, o.Event)
	_, ok = a.Observe(a.Sources()[0], lines.Line{Path: "/logs/all.log", Data: []byte("id=a end=done"), ModTime: written})
	require.False(t, ok)
}

func TestAFileOfTheSessionSaysWhereItWorks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, "sessions", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("x/a.txt", "works in /src/shop\nworks in /src/other\n")
	write("x/b.txt", "hello\nworks in /src/shop\n")
	write("x/c.txt", "works in src/shop\n")
	write("x/d.txt", "works in /src/sh")
	a := newAgent(t, logbot(dir))
	for id, want := range map[string]string{"a": "/src/shop", "b": "", "c": "", "d": "", "nobody": "", "*": "", "../x/a": "", "[a]": ""} {
		o, ok := observe(a, filepath.Join(dir, "all.log"), "id="+id+" end=slow")
		require.True(t, ok, id)
		require.Equal(t, want, o.Cwd, "session %s", id)
	}
}

func TestASessionOfWhichNoFileSaysWhereItWorksIsParked(t *testing.T) {
	_, s, _ := scene(t, "")
	o := logbot(filepath.Dir(s.Transcript))
	require.NoError(t, os.WriteFile(s.Transcript, []byte("id=s1 end=slow\n"), 0o600))
	s.Cwd = ""
	plan, err := newAgent(t, o).Plan(t.Context(), s, "continue")
	require.NoError(t, err)
	require.NotNil(t, plan.Skip)
	require.True(t, plan.Skip.Park)
	require.Contains(t, plan.Skip.Why, "s1.txt says where the session works")
}

// A process of the configured program in a session's directory may hold the session.
func TestAProgramThatIsNamedHoldsTheSessionsOfItsDirectory(t *testing.T) {
	if !procfs.Proc.HasProc() {
		t.Skip("SKIPPED: this system has no /proc")
	}
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	_, s, _ := scene(t, "")
	o := mybot(s.Cwd)
	o.Program = []string{"named-bot-of-a-test", "1001"}
	for wait, kind := range map[string]string{"1000": "interactive", "1001": "headless"} {
		cmd := &exec.Cmd{Path: sleep, Args: []string{"/opt/named-bot-of-a-test", wait}, Dir: s.Cwd}
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { return len(procfs.Proc.Argv(cmd.Process.Pid)) > 0 }, time.Minute, time.Millisecond, "the kernel shows its command line")
		owner, err := newAgent(t, o).Owner(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, &resume.Owner{PID: cmd.Process.Pid, Kind: kind}, owner)

		elsewhere := s
		elsewhere.Cwd = t.TempDir()
		owner, err = newAgent(t, o).Owner(t.Context(), elsewhere)
		require.NoError(t, err)
		require.Nil(t, owner)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	owner, err := newAgent(t, o).Owner(t.Context(), s)
	require.NoError(t, err)
	require.Nil(t, owner)
}
