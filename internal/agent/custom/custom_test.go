package custom

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// mybot is the agent of the documentation, with its logs in dir.
func mybot(dir string) Options {
	return Options{
		Name:     "mybot",
		Files:    []string{filepath.Join(dir, "*.log")},
		Session:  `([^/]+)\.log$`,
		Cwd:      dir,
		Limit:    []string{`rate limited, retry in (?P<after>\S+)`, `rate limited until (?P<at>.+)`, `rate limited$`, `stopped: (?P<class>\w+)`},
		Progress: []string{`^step `},
		Resume:   []string{"mybot", "--resume", "{session}", "{prompt}"},
		Zone:     time.UTC,
		Grace:    2 * time.Hour,
	}
}

func newAgent(t testing.TB, o Options) *Agent {
	a, err := New(o)
	require.NoError(t, err)
	return a
}

var written = time.Date(2026, 11, 15, 1, 0, 0, 0, time.UTC)

func observe(a *Agent, path, line string) (resume.Observation, bool) {
	src := a.Sources()[0]
	weight := src.Sift([]byte(line))
	s, ok := a.Observe(src, lines.Line{Path: path, Data: []byte(line), ModTime: written})
	if ok != (weight != agent.Nothing) {
		panic("sift and observe differ on " + line)
	}
	return s, ok
}

func TestWhatALineMeans(t *testing.T) {
	a := newAgent(t, mybot("/logs"))
	for _, c := range []struct {
		rule, line string
		want       resume.Event
	}{
		{"a line that says nothing", "hello", nil},
		{"progress", "step 4 of 9", resume.Progressed{At: written}},
		{"progress is anchored as written", "a step", nil},
		{
			"a limit with a duration", "rate limited, retry in 2s",
			resume.Limited{
				At: written, Text: "rate limited, retry in 2s",
				Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: written.Add(2*time.Second + tick), Source: limit.Words, Counted: true}},
			},
		},
		{
			"a bare number is seconds", "rate limited, retry in 90",
			resume.Limited{
				At: written, Text: "rate limited, retry in 90",
				Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: written.Add(90*time.Second + tick), Source: limit.Words, Counted: true}},
			},
		},
		{
			"a countdown is no time of day", "rate limited, retry in 00:01:30",
			resume.Limited{
				At: written, Text: "rate limited, retry in 00:01:30",
				Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: written.Add(90*time.Second + tick), Source: limit.Words, Counted: true}},
			},
		},
		{
			"a time that cannot be read is not stated", "rate limited, retry in %&/",
			resume.Limited{At: written, Text: "rate limited, retry in %&/", Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}},
		},
		{
			"a limit without a time", "step 3 rate limited",
			resume.Limited{At: written, Text: "step 3 rate limited", Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}},
		},
		{
			"a limit wins over progress", "step 3: rate limited",
			resume.Limited{At: written, Text: "step 3: rate limited", Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}},
		},
		{
			"a class by name", "stopped: usage_limit",
			resume.Limited{At: written, Text: "stopped: usage_limit", Verdict: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true}},
		},
		{
			"a class that waiting does not mend", "stopped: billing",
			resume.Limited{At: written, Text: "stopped: billing", Verdict: limit.Verdict{Class: limit.Billing}},
		},
		{
			"a class nobody knows", "stopped: flu",
			resume.Limited{
				At: written, Text: `stopped: flu (unknown class "flu", taken as rate_limit)`,
				Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true},
			},
		},
		{"a cancel", "stopped: cancelled", resume.Cancelled{At: written}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s, ok := observe(a, "/logs/s1.log", c.line)
			require.Equal(t, c.want != nil, ok)
			if !ok {
				return
			}
			require.Equal(t, c.want, s.Event)
			require.Equal(t, resume.Key{Agent: "mybot", ID: "s1"}, s.Key)
			require.Equal(t, "mybot:default", s.Account)
			require.Equal(t, "/logs", s.Cwd)
			require.Equal(t, "/logs/s1.log", s.Transcript)
		})
	}
}

func TestAClockTimeIsReadByTheSameGrammar(t *testing.T) {
	a := newAgent(t, mybot("/logs"))
	for _, line := range []string{"rate limited until 2026-11-15T02:30:00Z", "rate limited until 2:30am (UTC)"} {
		s, ok := observe(a, "/logs/s1.log", line)
		require.True(t, ok)
		require.WithinDuration(t, written.Add(90*time.Minute), s.Event.(resume.Limited).Reset.At, 0, line)
	}
}

func TestALineMayTellWhenItWasWritten(t *testing.T) {
	o := mybot("/logs")
	o.Limit = []string{`^\[(?P<time>[^\]]+?)(?: (?P<zone>[A-Z]\S+|[+-]\S+))?\] rate limited, retry in (?P<after>\S+)`}
	o.Progress = []string{`^\[(?P<time>[^\]]+)\] step`}
	a := newAgent(t, o)
	for line, age := range map[string]time.Duration{
		"[2026-11-15T00:30:00Z] rate limited, retry in 2h":            30 * time.Minute,
		"[2026-11-15 00:30:00] rate limited, retry in 2h":             30 * time.Minute,
		"[2026-11-15 01:30:00 Europe/Rome] rate limited, retry in 2h": 30 * time.Minute,
		"[2026-11-14 19:30:00 EST] rate limited, retry in 2h":         30 * time.Minute,
		"[2026-11-15 01:30:00 +01:00] rate limited, retry in 2h":      30 * time.Minute,
		"[1794702600] rate limited, retry in 2h":                      30 * time.Minute,
		"[00:30:00] rate limited, retry in 2h":                        30 * time.Minute,
		"[23:00:00] rate limited, retry in 2h":                        2 * time.Hour, // yesterday's
		"[2026-11-15T03:00:00Z] rate limited, retry in 2h":            0,             // no line is newer than its file
		"[soon] rate limited, retry in 2h":                            0,
		"[5 minutes] rate limited, retry in 2h":                       0,
	} {
		s, ok := observe(a, "/logs/s1.log", line)
		require.True(t, ok, line)
		limited := s.Event.(resume.Limited)
		require.WithinDuration(t, written.Add(-age), limited.At, 0, line)
		require.WithinDuration(t, written.Add(2*time.Hour-age), limited.Reset.At, tick, line)
	}
	s, ok := observe(a, "/logs/s1.log", "[2026-11-15T00:30:00Z] step 2")
	require.True(t, ok)
	require.Equal(t, written.Add(-30*time.Minute), s.Event.(resume.Progressed).At)
}

func TestTheSessionIsNamedByTheLineElseByThePath(t *testing.T) {
	for _, c := range []struct{ rule, session, line, path, id, cwd string }{
		{"the path", `([^/]+)\.log$`, "step 1", "/logs/s1.log", "s1", "/home"},
		{"a named group beats the first", `(id)=(?P<session>\w+)`, "step id=x7", "/logs/s1.log", "x7", "/home"},
		{"the line beats the path", `(?:id=|/)(\w+)`, "step id=x7", "/logs/s1.log", "x7", "/home"},
		{"with its directory", `(?P<cwd>/src/\w+) (?P<session>\w+)`, "step in /src/app x7", "/logs/s1.log", "x7", "/src/app"},
		{"none at all", `id=(\w+)`, "step 1", "/logs/s1.log", "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o := mybot("/logs")
			o.Session, o.Cwd = c.session, "/home"
			s, ok := newAgent(t, o).Observe(agent.Source{}, lines.Line{Path: c.path, Data: []byte(c.line), ModTime: written})
			require.Equal(t, c.id != "", ok)
			require.Equal(t, c.id, s.Key.ID)
			require.Equal(t, c.cwd, s.Cwd)
		})
	}
}

// Progress of one session must not count for another.
func TestMovementInASharedFileIsReadLineByLine(t *testing.T) {
	o := mybot("/logs")
	require.Equal(t, agent.Moves, newAgent(t, o).sift([]byte("step 1")))
	o.Session = `id=(\w+)`
	require.Equal(t, agent.Matters, newAgent(t, o).sift([]byte("step 1 id=a")))
	require.True(t, newAgent(t, o).Sources()[0].Shared)
	require.False(t, newAgent(t, mybot("/logs")).Sources()[0].Shared)
}

func TestFilesSayWhatIsWatched(t *testing.T) {
	o := mybot("/logs")
	o.Files = []string{"/logs/*.log", "/logs/old/bot.txt", "/srv/*/logs/*/out.log", "/logs/old/*.txt"}
	sources := newAgent(t, o).Sources()
	require.Len(t, sources, 3)
	require.Equal(t, "/logs", sources[0].Root)
	require.Zero(t, sources[0].Depth)
	require.Equal(t, "/logs/old", sources[1].Root)
	require.Equal(t, "/srv", sources[2].Root)
	require.Equal(t, 3, sources[2].Depth)

	require.True(t, sources[0].Match("a.log"))
	require.False(t, sources[0].Match("a.txt"))
	require.False(t, sources[0].Match("old/bot.txt"))
	require.True(t, sources[1].Match("bot.txt"))
	require.True(t, sources[1].Match("b.txt"))
	require.True(t, sources[2].Match("x/logs/y/out.log"))
	require.False(t, sources[2].Match("x/logs/out.log"))
}

func TestAFileOfTwoPatternsIsReadOnce(t *testing.T) {
	o := mybot("/logs")
	o.Files = []string{"/logs/*/a.log", "/logs/x/*.log"}
	sources := newAgent(t, o).Sources()
	require.True(t, sources[0].Match("x/a.log"))
	require.False(t, sources[1].Match("a.log"))
	require.True(t, sources[1].Match("b.log"))
}

func TestEverythingWrongIsToldAtOnce(t *testing.T) {
	_, err := New(Options{
		Name: "mybot", Files: []string{"logs/*.log", "/logs/[", "/logs/"}, Session: "no group",
		Limit: []string{"(", `(?P<when>\d+)`}, Progress: []string{"", `(?P<after>x)`}, Resume: []string{"{session}"},
	})
	for _, want := range []string{
		"agent mybot", `"logs/*.log": must be an absolute path`, `"/logs/["`, `"/logs/": must name files`, `session: "no group"`, "limit: error parsing regexp",
		`group "when"`, "progress: an empty pattern", `group "after"`, `"{session}" cannot hold a placeholder`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = New(Options{})
	for _, want := range []string{"name:", "files:", "session:", "limit:", "resume:"} {
		require.ErrorContains(t, err, want)
	}
}

// scene is a stopped session on disk and a program to continue it with.
func scene(t *testing.T, content string) (*Agent, resume.Session, string) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	program := filepath.Join(bin, "mybot")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	path := filepath.Join(dir, "s1.log")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	o := mybot(dir)
	o.Resume = []string{"mybot", "--resume={session}", "{prompt}", "in {cwd}", "{other}", "$(id)"}
	o.Env = []string{"A=1"}
	return newAgent(t, o), resume.Session{Key: resume.Key{Agent: "mybot", ID: "s1"}, Cwd: dir, Transcript: path}, program
}

func TestAStoppedSessionIsContinuedByTheUsersCommand(t *testing.T) {
	a, s, program := scene(t, "step 1\nrate limited, retry in 2s\nnoise\n")
	plan, err := a.Plan(t.Context(), s, "go on, {session}")
	require.NoError(t, err)
	require.Nil(t, plan.Skip)
	require.Equal(t, &agent.Command{
		Argv: []string{program, "--resume=s1", "go on, {session}", "in " + s.Cwd, "{other}", "$(id)"},
		Dir:  s.Cwd,
		Env:  []string{"A=1"}, Fixed: true,
	}, plan.Run)
}

func TestASessionThatIsNotToBeContinuedIsLeftAlone(t *testing.T) {
	const stopped = "step 1\nrate limited\n"
	for _, c := range []struct {
		rule, content string
		spoil         func(*resume.Session, string)
		why           string
		park          bool
	}{
		{"it moved", stopped + "step 2\n", nil, "moved on", false},
		{"a user stopped it", stopped + "stopped: cancelled\n", nil, "interrupted by the user", false},
		{"the file was emptied", "", nil, "not say any more", false},
		{"its file is gone", stopped, func(s *resume.Session, _ string) { s.Transcript += ".gone" }, "transcript is gone", true},
		{"its directory is gone", stopped, func(s *resume.Session, _ string) { s.Cwd += "/gone" }, "is gone", true},
		{"its program is gone", stopped, func(_ *resume.Session, program string) { _ = os.Remove(program) }, "mybot was not found", true},
		{"its id is an option", stopped, func(s *resume.Session, _ string) { s.Key.ID = "--help" }, `"--help"`, true},
		{"its id is a path", stopped, func(s *resume.Session, _ string) { s.Key.ID = "../s1" }, `"../s1"`, true},
		{"its id is a command", stopped, func(s *resume.Session, _ string) { s.Key.ID = "s1;reboot" }, `"s1;reboot"`, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, s, program := scene(t, c.content)
			if c.spoil != nil {
				c.spoil(&s, program)
			}
			plan, err := a.Plan(t.Context(), s, "continue")
			require.NoError(t, err)
			require.Nil(t, plan.Run)
			require.Contains(t, plan.Skip.Why, c.why)
			require.Equal(t, c.park, plan.Skip.Park)
		})
	}
}

func TestOtherSessionsInTheFileDoNotDecide(t *testing.T) {
	a, s, _ := scene(t, "")
	a.session = regexp.MustCompile(`id=(\w+)`)
	require.NoError(t, os.WriteFile(s.Transcript, []byte("id=s1 rate limited\nstep 2 id=s2\nstep 3 id=s3\n"), 0o600))
	plan, err := a.Plan(t.Context(), s, "continue")
	require.NoError(t, err)
	require.NotNil(t, plan.Run)
	s.Key.ID = "s2"
	plan, err = a.Plan(t.Context(), s, "continue")
	require.NoError(t, err)
	require.NotNil(t, plan.Skip)
}

func TestNobodyIsKnownToHoldASession(t *testing.T) {
	a, s, _ := scene(t, "")
	owner, err := a.Owner(t.Context(), s)
	require.NoError(t, err)
	require.Nil(t, owner)
}

// The agent's own process that writes the session's file tells its directory, and whether the user's command only runs the
// same program again.
func TestWhoWritesASessionsFile(t *testing.T) {
	if !procfs.Proc.HasProc() {
		t.Skip("SKIPPED: this system has no /proc")
	}
	file := filepath.Join(t.TempDir(), "s-1.log")
	require.NoError(t, os.WriteFile(file, []byte("limit\n"), 0o600))
	const script = `exec 3>>"$0"; echo writes; sleep 60 & wait`
	writes := func(argv ...string) int {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.SysProcAttr = filepath.Dir(file), &syscall.SysProcAttr{Setpgid: true}
		said, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
		_, err = said.Read(make([]byte, 1))
		require.NoError(t, err)
		return cmd.Process.Pid
	}
	writes("sh", "-c", script, file)
	a, err := New(Options{Name: "bot", Files: []string{file}, Session: `(s-\d)`, Limit: []string{"limit"}, Resume: []string{"sh", "bot.sh"}})
	require.NoError(t, err)
	s := resume.Session{Key: resume.Key{Agent: "bot", ID: "s-1"}, Cwd: t.TempDir(), Transcript: file}
	require.Zero(t, a.Writer(t.Context(), s), "another program may write it")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "bot.sh"), []byte(strings.ReplaceAll(script, "$0", file)), 0o600))
	pid := writes("sh", "./bot.sh")
	require.Equal(t, pid, a.Writer(t.Context(), s))
	a.is.Program = []string{"other"}
	require.Zero(t, a.Writer(t.Context(), s), "its user says how it is called")
	a.is.Program = []string{"bot.sh", "--batch"}
	require.Equal(t, pid, a.Writer(t.Context(), s))
	s.Origin = a.Origin(pid, false)
	require.NotNil(t, s.Origin)
	require.False(t, s.Origin.ArgsSeen, "nobody knows its flags")
	require.True(t, s.Origin.EnvSeen)
	require.Empty(t, s.Origin.Sandbox)
	for program, inside := range map[string]bool{"sh": false, "env": true} { // the same program, or one that enters a container
		a.is.Resume = []string{program, "bot.sh"}
		plan, err := a.Plan(t.Context(), s, "continue")
		require.NoError(t, err)
		require.NotNil(t, plan.Run, "%+v", plan.Skip)
		require.Equal(t, inside, plan.Run.Inside, program)
	}
}
