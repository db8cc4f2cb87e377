package opencode

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// stopped is a session stopped by a limit in a database, with a program to continue it.
type stopped struct {
	*store
	agent   *Agent
	dir     string
	program string
	session resume.Session
}

func newStopped(t *testing.T) *stopped {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("OPENCODE_DB", "")
	bin := t.TempDir()
	s := &stopped{dir: t.TempDir(), program: filepath.Join(bin, "opencode")}
	require.NoError(t, os.WriteFile(s.program, []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", bin)
	a, err := openCode.make(agent.Options{})
	require.NoError(t, err)
	a.Processes = process.At(procfs.FS(t.TempDir()))
	a.state = t.TempDir()
	s.agent, s.store = a, newStore(t, a.homes.Roots[0])
	at := time.Now().Add(-time.Minute)
	s.store.session("ses_1", s.dir, at)
	s.assistant("msg_1", "ses_1", at, refused(5))
	s.session = resume.Session{
		Key: resume.Key{Agent: Name, ID: "ses_1"}, Cwd: s.dir, Transcript: s.path, LimitedAt: at,
		Interruption: resume.Interruption{
			Limit: limit.Verdict{Class: limit.RateLimit, WaitHelps: true},
		},
	}
	return s
}

func (s *stopped) plan(prompt string) agent.Plan {
	plan, err := s.agent.Plan(s.t.Context(), s.session, prompt)
	require.NoError(s.t, err)
	return plan
}

func TestASessionIsContinuedInItsDirectory(t *testing.T) {
	s := newStopped(t)
	require.Equal(t, agent.Plan{Run: &agent.Command{
		Argv:  []string{s.program, "run", "--session", "ses_1", "--format", "json", "continue"},
		Dir:   s.dir,
		Files: []string{s.program},
	}}, s.plan("continue"))
}

// By default opencode continues with its usual agent, which has other permissions than the session's.
func TestASessionKeepsItsAgent(t *testing.T) {
	s := newStopped(t)
	s.exec("UPDATE session SET agent = 'plan'")
	require.Equal(t, []string{s.program, "run", "--session", "ses_1", "--format", "json", "--agent", "plan", "continue"}, s.plan("continue").Run.Argv)
	s.exec("UPDATE session SET agent = '--auto'")
	require.Equal(t, []string{s.program, "run", "--session", "ses_1", "--format", "json", "continue"}, s.plan("continue").Run.Argv)
}

// opencode quotes an argument with a space, and takes one that begins with a dash for an option.
func TestAPromptIsPassedWordByWord(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{
		"continue":           {"continue"},
		"please  go on":      {"please", "go", "on"},
		"two\nlines of it":   {"two\nlines", "of", "it"},
		"use --auto for it":  {"--", "use", "--auto", "for", "it"},
		"--auto":             {"--", "--auto"},
		" around ":           {"around"},
		"$(touch x); `id` &": {"$(touch", "x);", "`id`", "&"},
	} {
		require.Equal(t, want, words(prompt), prompt)
	}
}

func TestASessionIsLeftAlone(t *testing.T) {
	now := time.Now()
	for why, c := range map[string]struct {
		change func(*stopped)
		park   bool
	}{
		"a newer prompt was given to the session": {func(s *stopped) { s.user("msg_2", "ses_1", now) }, false},
		"the session has moved on by itself":      {func(s *stopped) { s.assistant("msg_2", "ses_1", now, finished) }, false},
		"the session was stopped again, until":    {func(s *stopped) { s.assistant("msg_2", "ses_1", now, refused(3600)) }, false},
		"the turn was interrupted by the user":    {func(s *stopped) { s.assistant("msg_2", "ses_1", now, cutOff) }, false},
		"is gone":                                 {func(s *stopped) { require.NoError(t, os.Remove(s.dir)) }, true},
		"opencode was not found":                  {func(s *stopped) { require.NoError(t, os.Remove(s.program)); s.agent.UserDir = s.dir }, true},
		"the database is gone":                    {func(s *stopped) { s.session.Transcript += ".gone" }, true},
		"not in the database":                     {func(s *stopped) { s.session.Key.ID = "ses_9" }, true},
		"a child session":                         {func(s *stopped) { s.exec("UPDATE session SET parent_id = 'ses_0'") }, true},
		"its user archived it":                    {func(s *stopped) { s.exec("UPDATE session SET time_archived = 5") }, true},
		"has characters that no id":               {func(s *stopped) { s.session.Key.ID = "--auto" }, true},
		"is not an absolute path":                 {func(s *stopped) { s.exec("UPDATE session SET directory = 'src'") }, true},
		"the session's directory is ":             {func(s *stopped) { s.exec("UPDATE session SET directory = NULL") }, true},
	} {
		t.Run(why, func(t *testing.T) {
			s := newStopped(t)
			c.change(s)
			plan := s.plan("continue")
			require.NotNil(t, plan.Skip, "%+v", plan.Run)
			require.Contains(t, plan.Skip.Why, why)
			require.Equal(t, c.park, plan.Skip.Park)
		})
	}
}

// Nothing reaches an open opencode. One in a terminal is closed by its user; that a server holds the session is told,
// because nobody may know of that.
func TestAnOpenOpencodeIsLeftAlone(t *testing.T) {
	s := newStopped(t)
	live := func(all ...procDir) agent.Plan {
		s.agent.Processes = fakeProc(t, all...)
		plan, err := s.agent.PlanLive(t.Context(), s.session, resume.Owner{PID: 7}, "continue")
		require.NoError(t, err)
		return plan
	}
	terminal := procDir{pid: 7, argv: []string{"opencode"}, cwd: s.dir}
	attached := procDir{pid: 8, argv: []string{"opencode", "attach", "http://127.0.0.1:4096"}, cwd: s.dir}
	server := procDir{pid: 9, argv: []string{"opencode", "serve", "--port", "4096"}, cwd: s.dir}
	require.Equal(t, agent.Plan{}, live(terminal))
	require.Equal(t, agent.Plan{}, live(attached))
	require.Equal(t, told("opencode serve (process 9) holds it: end that, and the session is continued"), live(attached, server))
	s.user("msg_2", "ses_1", time.Now())
	require.Contains(t, live(terminal).Skip.Why, "a newer prompt")
}

// A resume that hung and was ended leaves a prompt and an open message. Neither is a person's.
func TestAResumeThatCameToNothingIsTriedAgain(t *testing.T) {
	s := newStopped(t)
	began := time.Now().Add(-30 * time.Second)
	s.user("msg_2", "ses_1", began)
	require.NotNil(t, s.plan("continue").Skip, "a person's prompt")
	s.session.Attempts = []resume.Attempt{{N: 1, Mark: "m1", StartedAt: began.Add(-time.Second), EndedAt: began.Add(10 * time.Second)}}
	require.NotNil(t, s.plan("continue").Run, "our prompt")
	s.assistant("msg_3", "ses_1", began.Add(time.Second), "")
	require.NotNil(t, s.plan("continue").Run, "our turn")
}

func TestARunFindsTheDatabaseOfItsSession(t *testing.T) {
	s := newStopped(t)
	usual := s.agent.homes.Roots[0]
	for path, want := range map[string][]string{
		filepath.Join(usual, "opencode.db"):     nil,
		filepath.Join(usual, "opencode-dev.db"): {"OPENCODE_DB=" + filepath.Join(usual, "opencode-dev.db")},
		"/work2/opencode/opencode.db":           {"XDG_DATA_HOME=/work2", "OPENCODE_DB=/work2/opencode/opencode.db"},
		"/else/where.db":                        {"OPENCODE_DB=/else/where.db"},
	} {
		require.Equal(t, want, s.agent.environment(program.Found{Program: resume.Program{Path: s.program}}, path), path)
	}
}

func TestWhereTheDatabasesAre(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for rule, c := range map[string]struct {
		data, db string
		roots    []string
		accounts map[string]string // by data directory
		database string            // of the first
	}{
		"the user's own":              {"", "", nil, map[string]string{"/home/u/.local/share/opencode": "opencode:default"}, "opencode.db"},
		"as XDG says":                 {"/data", "", nil, map[string]string{"/data/opencode": "opencode:default"}, "opencode.db"},
		"a relative XDG path is none": {"data", "", nil, map[string]string{"/home/u/.local/share/opencode": "opencode:default"}, "opencode.db"},
		"the one that is named":       {"", "/x/y.db", nil, map[string]string{"/x": "opencode:default"}, "y.db"},
		"a name in the usual place":   {"/data", "y.db", nil, map[string]string{"/data/opencode": "opencode:default"}, "y.db"},
		"several accounts": {
			"/data", "",
			[]string{"/data/opencode/", "/b", "/b"},
			map[string]string{"/data/opencode": "opencode:default", "/b": "opencode:/b"},
			"opencode.db",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", c.data)
			t.Setenv("OPENCODE_DB", c.db)
			a, err := openCode.make(agent.Options{Roots: c.roots})
			require.NoError(t, err)
			accounts := make(map[string]string)
			for _, root := range a.homes.Roots {
				accounts[root] = a.homes.Account(root)
			}
			require.Equal(t, c.accounts, accounts)
			require.True(t, a.watches(filepath.Join(a.homes.Roots[0], c.database)))
			require.Equal(t, c.db == "", a.watches(filepath.Join(a.homes.Roots[0], "opencode-beta.db")))
		})
	}
	_, err := openCode.make(agent.Options{Roots: []string{"rel"}})
	require.ErrorContains(t, err, "not an absolute path")
	a, err := openCode.make(agent.Options{Roots: []string{"/x"}})
	require.NoError(t, err)
	require.True(t, a.watches("/x/opencode.db"))
	require.True(t, a.watches("/x/opencode-beta.db"))
	require.False(t, a.watches("/x/opencode.db-wal"))
	require.False(t, a.watches("/x/other.db"))
}
