package deliver

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/mounts"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/starts"
)

// startedWith sets what the session was started with.
func (w *world) startedWith(o resume.Origin) {
	o.SeenAt, o.ArgsSeen, o.EnvSeen = time.Now(), true, true
	w.session.Origin = &o
}

func TestACommandRunsInTheEnvironmentOfItsSession(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "/of/the/daemon")
	t.Setenv("HTTPS_PROXY", "http://of-the-daemon")
	w := newWorld(t)
	out := filepath.Join(t.TempDir(), "env")
	w.agent.plan.Run.Argv = []string{"sh", "-c", `env > "$0"`, out}
	w.startedWith(resume.Origin{Env: []resume.Variable{{Name: "SSL_CERT_FILE", Value: "/of/the/session"}, {Name: "PATH", Value: os.Getenv("PATH")}}})
	require.Equal(t, []string{"sending", "started", "delivered"}, w.act())
	env, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(env), "SSL_CERT_FILE=/of/the/session\n")
	require.NotContains(t, string(env), "HTTPS_PROXY", "the session had none")
	require.Contains(t, string(env), "EXTRA=1\n", "what the user adds for resumed runs")
}

// A program that enters a container runs outside of it: the home directories in the container are not
// its own.
func TestTheWayIntoASandboxKeepsItsOwnPlaces(t *testing.T) {
	t.Setenv("HOME", "/home/outside")
	for name, c := range map[string]struct {
		through []string
		home    string
	}{
		"as configured": {nil, "/home/outside"},
		"what stood before the session's program": {[]string{"sh"}, "/root"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			out := filepath.Join(t.TempDir(), "env")
			w.agent.plan.Run.Argv, w.agent.plan.Run.Inside = []string{"sh", "-c", `env > "$0"`, out}, true
			w.startedWith(resume.Origin{Sandbox: "a container", Through: c.through, Env: []resume.Variable{
				{Name: "HOME", Value: "/root"}, {Name: "SSL_CERT_FILE", Value: "/in/the/box"}, {Name: "PATH", Value: os.Getenv("PATH")},
			}})
			require.Equal(t, []string{"sending", "started", "delivered"}, w.act())
			env, err := os.ReadFile(out)
			require.NoError(t, err)
			require.Contains(t, string(env), "HOME="+c.home+"\n")
			require.Contains(t, string(env), "SSL_CERT_FILE=/in/the/box\n")
		})
	}
}

func TestWhatWouldBeFreerThanTheSessionIsParked(t *testing.T) {
	for name, c := range map[string]struct {
		origin resume.Origin
		change func(*agent.Command)
		why    string // empty: it is run
	}{
		"a session that lived in a sandbox":   {resume.Origin{Sandbox: "mounts of its own"}, nil, "it ran in a sandbox (mounts of its own)"},
		"not where the command is the way in": {resume.Origin{Sandbox: "mounts of its own"}, func(c *agent.Command) { c.Inside = true }, ""},
		"a restriction that is lost": {resume.Origin{}, func(c *agent.Command) {
			c.Carried.Missing = []leash.Omission{{What: "--settings", Why: "its value is a secret"}}
		}, "--settings: its value is a secret"},
		"a secret in what stood before the program": {resume.Origin{}, func(c *agent.Command) {
			c.Argv = []string{"box", "-e", "KEY=" + leash.Hidden, "true"}
		}, "it contains a secret"},
		"a variable that nobody has":                  {resume.Origin{Env: []resume.Variable{{Name: "HTTPS_PROXY", Hash: "00"}}, Salt: "x"}, nil, "HTTPS_PROXY"},
		"nor what hands a message to its own process": {resume.Origin{Sandbox: "mounts of its own"}, func(c *agent.Command) { c.Unverifiable = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.change != nil {
				c.change(w.agent.plan.Run)
			}
			w.startedWith(c.origin)
			preview := w.d.Preview(t.Context(), w.now())
			require.Equal(t, w.agent.plan.Run.Argv, preview.Command)
			if c.why == "" {
				require.Empty(t, preview.Instead)
				return
			}
			require.Contains(t, preview.Instead, c.why)
			require.Equal(t, []string{"parked: " + preview.Instead}, w.act(), "a preview says what a resume would say")
		})
	}
}

// It may have had flags or a sandbox that restricted it: only its user can say that it had none.
func TestASessionWhoseStartWasNotSeenWaitsForItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.SameMode = false
	diary := w.act()
	require.Len(t, diary, 1)
	require.Contains(t, diary[0], "not sent: "+notSeen)
	require.Equal(t, resume.StartUnseen, w.now().Needs)
	require.Contains(t, w.actAgain(), "delivered", "their word is enough")

	w = newWorld(t)
	w.settings.SameMode = false
	require.NoError(t, w.d.opts.Starts.Put(w.session.Key, &resume.Origin{
		SeenAt: time.Now(), ArgsSeen: true, EnvSeen: true, Env: []resume.Variable{{Name: "PATH", Value: os.Getenv("PATH")}},
	}))
	require.Equal(t, "delivered", last(w.act()), "a hook has recorded its start")
}

// runsInProject lets the session be continued by a program of its own directory.
func (w *world) runsInProject() (program string) {
	program = filepath.Join(w.session.Cwd, "bot")
	require.NoError(w.t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	w.agent.plan.Run.Argv, w.agent.plan.Run.Files = []string{program}, []string{program}
	w.startedWith(resume.Origin{Program: resume.Program{Path: program}, Env: []resume.Variable{{Name: "PATH", Value: os.Getenv("PATH")}}})
	return program
}

// Who can write in a project chooses what its programs are: a person says once that one may continue the session. That holds
// for the program as it was then.
func TestAProgramOfTheProjectIsRunAfterItsUsersWord(t *testing.T) {
	w := newWorld(t)
	program := w.runsInProject()
	diary := w.act()
	require.Len(t, diary, 1)
	require.Contains(t, diary[0], "not sent: "+program+" would continue it, and lies below its directory, where the agent can change it: look at it, then `resumed retry s-1` runs it")
	require.Equal(t, []any{resume.Parked, resume.TrustNeeded}, []any{w.now().State, w.now().Needs})
	require.Equal(t, "delivered", last(w.actAgain()))
	require.Nil(t, w.now().Allowed, "the word is for the program")
	w.session.State = resume.Parked
	require.Equal(t, "delivered", last(w.actAgain()), "a person is asked once")

	other := filepath.Join(w.session.Cwd, "other")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.Rename(other, program))
	w.session.State = resume.Parked
	require.Contains(t, last(w.actAgain()), "not sent: "+program+" would continue it", "it was replaced")
}

// A person is asked as soon as a session is stopped, if there is something to ask.
func TestWhoIsAskedAboutAStartThatWasNotSeen(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*world)
		asked bool
	}{
		"its start was not seen":   {func(*world) {}, true},
		"it is not stopped":        {func(w *world) { w.session.State = resume.Watching }, false},
		"a person has allowed it":  {func(w *world) { w.session.Allowed = new(resume.Word) }, false},
		"it is a task":             {func(w *world) { w.session.Task = new(resume.Task) }, false},
		"its start was seen":       {func(w *world) { w.startedWith(resume.Origin{}) }, false},
		"nobody wants to be asked": {func(w *world) { w.settings.SameMode = true }, false},
		"it is forgotten":          {func(w *world) { w.unknown = resume.ErrNoSession }, false},
		"its program lies in its project": {func(w *world) {
			w.settings.SameMode = true
			w.runsInProject()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := stopped(t)
			w.settings.SameMode, w.agent.owner = false, nil
			c.given(w)
			w.d.askIfUnseen(t.Context(), []resume.Key{w.session.Key})
			require.Equal(t, c.asked, slices.Contains(w.diary.all(), "resume.ProcessUnknown"))
		})
	}
}

// A service manager refuses some variables of a shell.
func TestVariablesThatAResumeCannotHaveAreTold(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("INVOCATION_ID", "1")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
	require.NoError(t, os.MkdirAll(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd", "private"), 0o700))
	w := newWorld(t)
	w.startedWith(resume.Origin{Environ: []string{"PATH=/bin", "BASH_FUNC_deploy%%=() { :; }"}})
	require.Equal(t, []string{"variables BASH_FUNC_deploy%%: the service manager does not pass on exported functions and control characters"},
		w.d.Preview(t.Context(), w.now()).LeftOut)
}

// Without the agent nothing can be continued: its user is told as soon as the session is stopped.
func TestAMissingAgentIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	w.settings.SameMode = false
	w.agent.Base = agent.NewBase(agent.About{Name: "fake", Program: "bot"}, agent.Options{})
	w.agent.plan = w.agent.Missing()
	w.session = w.session.Next(resume.NotSent{Mark: w.mark, Why: "later"}, rules, time.Now(), 0.5)
	require.Equal(t, resume.Waiting, w.session.State)
	w.d.askIfUnseen(t.Context(), []resume.Key{w.session.Key})
	require.Equal(t, resume.Parked, w.now().State)
	require.Contains(t, w.now().Reason, "bot was not found: set command in [[agent]]; its start was not seen")
	require.Equal(t, resume.StartUnseen, w.now().Needs)
	require.Equal(t, []string{"resume.ProcessUnknown", "parked: bot was not found: set command in [[agent]]"}, w.actAgain(), "their word does not replace the program")
}

func TestAPreviewTouchesNothing(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://of-the-daemon")
	w := newWorld(t)
	w.agent.plan.Run.Argv = []string{"bot", "--key", "hunter22", "--deny", "x", "continue"}
	w.agent.plan.Run.Carried = leash.Repeated{Args: []string{"--key", "hunter22", "--deny", "x"}, LeftOut: []leash.Omission{{What: "--ide", Why: "it needs a terminal"}}}
	w.startedWith(resume.Origin{
		Args: []string{"--key", "hunter22", "--deny", "x", "--ide"}, Shown: []string{"--key", leash.Hidden, "--deny", "x", "--ide"},
		Env: []resume.Variable{{Name: "SSL_CERT_FILE", Value: "/mine"}},
	})
	before := w.now()
	require.Equal(t, view.Plan{
		Prompt: "continue", Command: []string{"bot", "--key", leash.Hidden, "--deny", "x", "continue"}, Dir: w.session.Cwd,
		Repeated: []string{"--key", leash.Hidden, "--deny", "x"}, LeftOut: []string{"--ide: it needs a terminal"},
		Env: []string{"SSL_CERT_FILE"}, EnvUnset: []string{"HTTPS_PROXY"},
	}, trimmed(w.d.Preview(t.Context(), before)))
	require.Empty(t, w.diary.all(), "nothing is noted, and nothing is written to disk")
	require.Equal(t, before, w.now())
	require.NoDirExists(t, w.d.opts.StateDir)
	require.NoDirExists(t, w.d.opts.LeaseDirs[0])

	w.agent.owner = &resume.Owner{PID: 42, Kind: "interactive"}
	require.Contains(t, w.d.Preview(t.Context(), before).Instead, "process 42")
	w.agent.talk = agent.Plan{Type: &agent.Typing{Process: resume.Process{PID: 42}, Text: "continue"}}
	preview := w.d.Preview(t.Context(), before)
	require.Equal(t, `"continue" is typed into the terminal of process 42`, preview.Does)
	require.Empty(t, preview.Command)
	w.why = "somebody went on"
	require.Equal(t, "somebody went on", w.d.Preview(t.Context(), before).Instead)
	require.Empty(t, w.diary.all())
}

// trimmed removes what comes from the environment of the tests.
func trimmed(p view.Plan) view.Plan {
	kept := []string{}
	for _, name := range p.EnvUnset {
		if strings.HasSuffix(name, "_PROXY") {
			kept = append(kept, name)
		}
	}
	p.EnvUnset = kept
	return p
}

func TestADryRunSaysTheSame(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.DryRun = true })
	w.agent.plan.Run.Argv = []string{"bot", "--deny", "Bash(touch:*)"}
	w.agent.plan.Run.Carried.LeftOut = []leash.Omission{{What: "--ide", Why: "it needs a terminal"}}
	require.Equal(t, []string{"parked: dry run: would have run bot --deny 'Bash(touch:*)' (left out: --ide: it needs a terminal)"}, w.act())
}

// A session whose start cannot be repeated waits for its user, if the start matters for how it is continued.
func TestWhenTheStartOfASessionMatters(t *testing.T) {
	seen := &resume.Origin{SeenAt: time.Now(), ArgsSeen: true, EnvSeen: true}
	env := &resume.Origin{SeenAt: time.Now(), EnvSeen: true}
	args := &resume.Origin{SeenAt: time.Now(), ArgsSeen: true}
	run := func(c agent.Command) agent.Plan { return agent.Plan{Run: &c} }
	typed := agent.Plan{Type: new(agent.Typing)}
	skips := func(noProgram bool) agent.Plan {
		return agent.Plan{Skip: &agent.Skip{Why: "no bot", NoProgram: noProgram}}
	}
	for name, c := range map[string]struct {
		origin *resume.Origin
		plan   agent.Plan
		why    string // empty: it does not matter
	}{
		"a command":                          {nil, run(agent.Command{}), notSeen},
		"a command, and the start is known":  {seen, run(agent.Command{}), ""},
		"only its variables are known":       {env, run(agent.Command{}), notSeen},
		"its user wrote the command":         {nil, run(agent.Command{Fixed: true}), ""},
		"it only plans":                      {nil, run(agent.Command{PlanOnly: true}), ""},
		"it is handed to its own process":    {nil, run(agent.Command{Unverifiable: true}), ""},
		"no flag restricts it":               {env, run(agent.Command{AnyFlags: true}), ""},
		"no flag does, but variables may":    {args, run(agent.Command{AnyFlags: true}), notSeen},
		"no flag does, and nothing is known": {nil, run(agent.Command{AnyFlags: true}), notSeen},
		"the start does not tell everything": {seen, run(agent.Command{Unproven: "its settings have changed"}), "its settings have changed"},
		"it is typed":                        {nil, typed, ""},
		"the program is missing":             {nil, skips(true), "no bot; " + notSeen},
		"only the program is missing":        {seen, skips(true), ""},
		"it is left alone":                   {nil, skips(false), ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := &delivery{session: resume.Session{Origin: c.origin}}
			notSent := v.startWasSeen(t.Context(), c.plan)
			if c.why == "" {
				require.Nil(t, notSent)
			} else {
				require.Equal(t, &resume.NotSent{Why: v.session.AskToContinue(c.why, resume.Permission{}), Then: resume.ParkUnseen}, notSent)
			}
			for _, v := range []*delivery{{owner: new(resume.Owner)}, {session: resume.Session{Allowed: new(resume.Word)}}, {settings: Settings{SameMode: true}}} {
				require.Nil(t, v.startWasSeen(t.Context(), c.plan), "its own process has it, or its user allowed it")
			}
		})
	}
}

// A word that was given for one mode is no word for a wider one.
func TestAWordIsForTheModeThatItWasGivenFor(t *testing.T) {
	asks, never := resume.Permission{Mode: "default", Rank: 3}, resume.Permission{Mode: "bypass", Rank: 6}
	w := newWorld(t)
	w.settings.SameMode = false
	w.agent.plan.Run.Permission = asks
	require.Contains(t, w.act()[0], "continues it in default, with your settings as they are now")
	w.agent.plan.Run.Permission = never
	require.Contains(t, last(w.actAgain()), "your word was for default, and it would continue in bypass now; ")
	require.Equal(t, resume.StartUnseen, w.now().Needs)
	require.Contains(t, w.actAgain(), "delivered", "they were shown that")

	w = newWorld(t)
	w.settings.SameMode, w.session.Allowed, w.agent.plan.Run.Permission = false, new(resume.Word), asks
	require.Contains(t, w.act(), "delivered")
	require.Equal(t, &asks, w.now().Allowed.For, "the word is for what the first resume had")
}

// The values of a session's variables are those of the process that it was seen in, and of no other one.
func TestTheVariablesOfASessionAreThoseOfItsProcess(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "deliver-")
	if err != nil || !mounts.InMemory(memory) {
		t.Skip("NOT TESTED HERE: there is no file system in memory")
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	w := newWorld(t)
	w.d.opts.Starts = starts.In(memory)
	first := resume.Process{PID: 42, Start: 7}
	require.NoError(t, w.d.opts.Starts.Put(w.session.Key, &resume.Origin{Process: first, Salt: "x", Environ: []string{"A=stored"}}))
	v := &delivery{Deliverer: w.d, session: w.session}
	require.Equal(t, []string{"A=stored"}, v.environOf(resume.Origin{Process: first, Salt: "x"}))
	require.Equal(t, []string{"A=seen"}, v.environOf(resume.Origin{Process: first, Salt: "x", Environ: []string{"A=seen"}}))
	require.Empty(t, v.environOf(resume.Origin{Process: resume.Process{PID: 42, Start: 8}, Salt: "x"}))
	require.Empty(t, v.environOf(resume.Origin{Process: first, Salt: "y"}))
}
