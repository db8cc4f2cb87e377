package runenv

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
	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

// bot is an agent with an account and a restriction in its environment, and a flag that names a file.
type bot struct {
	agent.Agent
	changed []string
}

func (b bot) ChangedSettings(resume.Origin) []string { return b.changed }

func (bot) Login(environ []string, _ string) string { return childenv.Value(environ, "LOGIN") }
func (bot) ContinueCommand(resume.Session) string   { return "bot --continue" }

func (bot) Variables() leash.Variables {
	return slices.Concat(leash.Variables{{Effect: leash.Acts, Names: "BOT_GO_ON"}, {Effect: leash.Account, Names: "BOT_KEY"}, {Effect: leash.Restricts, Names: "BOT_*"}}, leash.Common)
}

func (bot) Flags() leash.Flags {
	return leash.Flags{{Takes: leash.One | leash.Path, Names: "--settings"}}
}

// had is the environment of the session's process.
var had = []string{"PATH=/session", "HOME=/home/ann", "BOT_KEY=sk-of-the-session", "BOT_DENY=all", "DATABASE_URL=dev", "EDITOR=vi", "LOGIN=ann", "TERM=xterm", "TMUX=x"}

// daemons is the environment of the daemon: another database, another account, and more.
var daemons = []string{"PATH=/daemon", "HOME=/home/daemon", "BOT_KEY=sk-of-the-daemon", "BOT_LOOSE=1", "DATABASE_URL=prod", "EDITOR=vi", "LOGIN=ann", "AWS_PROFILE=live"}

// request is a resume of a session whose values are known.
func request() *Request {
	o := resume.Origin{Login: "ann", Limits: resume.ProcessLimits{Umask: "0077"}}
	bot{}.Variables().Record(&o, had, false)
	return &Request{
		Session: resume.Session{Key: resume.Key{Agent: "bot", ID: "s"}, Origin: &o}, Agent: bot{},
		Command: &agent.Command{Argv: []string{"/bin/bot", "-c"}, Env: []string{"RUN=1"}, Unset: []string{"LISTEN"}},
		Daemon:  daemons, Configured: []string{"CI=1"}, Values: func(resume.Origin) []string { return had },
	}
}

// lose is a restart of the machine: only what is stored is left of the session's environment, and the user's file has its key.
func (r *Request) lose() {
	r.Values = func(resume.Origin) []string { return nil }
	r.Configured = []string{"BOT_KEY=sk-of-the-session"}
}

// enter makes the session one of a container, and the command one that enters it.
func (r *Request) enter() {
	r.Session.Origin.Sandbox, r.Session.Origin.Login = "a container", ""
	r.Command.Argv, r.Command.Inside = []string{"/bin/enter", "box", "bot", "-c"}, true
}

// change changes the file of a flag after the session was started.
func (r *Request) change(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, os.WriteFile(path, []byte("deny all"), 0o600))
	r.Session.Origin.Files = starts.HashFiles([]string{path})
	require.NoError(t, os.WriteFile(path, []byte("allow all"), 0o600))
}

func TestACommandRunsInTheEnvironmentOfItsSession(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"its own values, and nothing of its terminal or the daemon": {
			func(*Request) {},
			"BOT_DENY=all BOT_KEY=sk-of-the-session CI=1 DATABASE_URL=dev EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"nothing that makes the agent act by itself, whoever has set it": {
			func(r *Request) {
				r.Values = func(resume.Origin) []string { return append(slices.Clone(had), "BOT_GO_ON=1") }
				r.Configured = append(r.Configured, "BOT_GO_ON=2")
			},
			"BOT_DENY=all BOT_KEY=sk-of-the-session CI=1 DATABASE_URL=dev EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"nor if only the daemon has it, and the start is not known": {
			func(r *Request) { r.Session.Origin, r.Daemon = nil, []string{"A=1", "BOT_GO_ON=1"} },
			"A=1 CI=1 RUN=1",
		},
		"what the command must not have": {
			func(r *Request) { r.Command.Unset = []string{"EDITOR"} },
			"BOT_DENY=all BOT_KEY=sk-of-the-session CI=1 DATABASE_URL=dev HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"but its own restriction all the same": {
			func(r *Request) { r.Command.Unset = []string{"BOT_DENY"} },
			"BOT_DENY=all BOT_KEY=sk-of-the-session CI=1 DATABASE_URL=dev EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"no key of the daemon for one that is lost and not used now": {
			func(r *Request) {
				r.lose()
				r.Configured, r.Changed = nil, Tell
				r.Command.Optional = func(name string) bool { return name == "BOT_KEY" }
			},
			"BOT_DENY=all DATABASE_URL=prod EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"after a restart what was stored, and nothing that it did not have": {
			func(r *Request) { r.lose(); r.Changed = Tell },
			"BOT_DENY=all BOT_KEY=sk-of-the-session DATABASE_URL=prod EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"into a sandbox through the wrapper that led into it": {
			func(r *Request) { r.enter(); r.Session.Origin.Through = r.Command.Argv[:2] },
			"BOT_DENY=all BOT_KEY=sk-of-the-session CI=1 DATABASE_URL=dev EDITOR=vi HOME=/home/ann LOGIN=ann PATH=/session RUN=1",
		},
		"into a sandbox by another program, which has the paths of this machine": {
			func(r *Request) { r.enter(); r.Configured = []string{"BOT_KEY=sk-of-the-session"} },
			"AWS_PROFILE=live BOT_DENY=all BOT_KEY=sk-of-the-session DATABASE_URL=prod EDITOR=vi HOME=/home/daemon LOGIN=ann PATH=/daemon RUN=1",
		},
		"a command that only hands over a message has the daemon's": {
			func(r *Request) {
				r.Command.Unverifiable, r.Session.Origin.Sandbox = true, "a container"
				r.Daemon = []string{"A=1"}
			},
			"A=1 CI=1 RUN=1",
		},
		"and so has one whose session's start is not known": {
			func(r *Request) { r.Session.Origin, r.Daemon = nil, []string{"A=1"} },
			"A=1 CI=1 RUN=1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			c.change(r)
			env, notSent := Of(*r)
			require.Nil(t, notSent)
			entries := childenv.Agent(env.Environ(), "", "")
			entries = slices.DeleteFunc(entries, func(entry string) bool { return entry == "PWD=" })
			slices.Sort(entries)
			require.Equal(t, c.want, strings.Join(entries, " "))
		})
	}
}

func TestAResumeHasTheLimitsOfItsSession(t *testing.T) {
	r := request()
	env, _ := Of(*r)
	require.Equal(t, "0077", env.Limits.Umask)
	require.ElementsMatch(t, []string{"PATH", "HOME", "BOT_KEY", "BOT_DENY"}, env.Had)

	r.enter()
	env, _ = Of(*r)
	require.Empty(t, env.Limits, "the program that enters a sandbox is another one")
}

func TestWhatWouldNotBeAsTheSessionWasIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request, *testing.T)
		why    string // empty: it is sent
	}{
		"a sandbox is not left": {func(r *Request, _ *testing.T) { r.Session.Origin.Sandbox = "a container" }, "it ran in a sandbox (a container)"},
		"nor where a wrapper is known that the command does not use": {
			func(r *Request, _ *testing.T) {
				r.Session.Origin.Sandbox, r.Session.Origin.Through = "a container", []string{"/bin/enter"}
			}, "it ran in a sandbox (a container)",
		},
		"a key that nobody has": {
			func(r *Request, _ *testing.T) { r.lose(); r.Configured = nil },
			"another account would be used",
		},
		"unless its provider is not used now": {
			func(r *Request, _ *testing.T) {
				r.lose()
				r.Configured, r.Changed = nil, Tell
				r.Command.Optional = func(name string) bool { return name == "BOT_KEY" }
			}, "",
		},
		"but not for another variable": {
			func(r *Request, _ *testing.T) {
				r.lose()
				r.Configured, r.Command.Optional = nil, func(name string) bool { return name == "BOT_OTHER" }
			}, "another account would be used",
		},
		"a flag that cannot be repeated": {
			func(r *Request, _ *testing.T) {
				r.Command.Carried.Missing = []leash.Omission{{What: "--token", Why: "a secret"}}
			}, "what the session was started with cannot be repeated: --token: a secret; go on with: bot --continue",
		},
		"a wrapper with a secret that was not kept": {
			func(r *Request, _ *testing.T) {
				r.Command.Argv = []string{"podman", "-e", "KEY=" + leash.Hidden, "bot"}
			}, "what stood before the program",
		},
		"another user of the provider": {
			func(r *Request, _ *testing.T) { r.Session.Origin.Login = "bob" }, "another account would be used: you are signed in as a different user",
		},
		"a file of a flag that is gone": {
			func(r *Request, _ *testing.T) { r.Command.Carried.Args = []string{"--settings", "/gone"} }, "/gone, which its --settings names, is gone",
		},
		"except in a sandbox, where files are others": {
			func(r *Request, _ *testing.T) {
				r.enter()
				r.Configured = []string{"BOT_KEY=sk-of-the-session"}
				r.Command.Carried.Args = []string{"--settings", "/gone"}
			}, "",
		},
		"but not those that were seen from here": {
			func(r *Request, t *testing.T) {
				r.change(t)
				r.enter()
				r.Configured = []string{"BOT_KEY=sk-of-the-session"}
				for path := range r.Session.Origin.Files {
					r.Command.Carried.Args, r.Command.AskMode = []string{"--settings", path}, true
					require.NoError(t, os.Remove(path))
					require.NoError(t, os.Mkdir(path, 0o700))
				}
			}, ", which its start names, is gone",
		},
		"a file of a flag that has changed": {(*Request).change, "changed since the session was started"},
		"settings that forbid something else": {
			func(r *Request, _ *testing.T) { r.Agent = bot{changed: []string{"/src/.bot/settings.json"}} }, "/src/.bot/settings.json changed since the session was started",
		},
		"unless the agent asks before it does harm":  {func(r *Request, t *testing.T) { r.change(t); r.Command.AskMode = true }, ""},
		"or a person has ordered it":                 {func(r *Request, t *testing.T) { r.change(t); r.Session.RetryAskedAt = time.Now() }, ""},
		"a lost value that chooses a target":         {func(r *Request, _ *testing.T) { r.lose() }, "DATABASE_URL: the values that the session had are lost"},
		"unless only telling is wanted":              {func(r *Request, _ *testing.T) { r.lose(); r.Changed = Tell }, ""},
		"a lost value that chooses none":             {func(r *Request, _ *testing.T) { r.loseEditor() }, ""},
		"but that one too if each change is to park": {func(r *Request, _ *testing.T) { r.loseEditor(); r.Changed = Park }, "EDITOR: the values that the session had are lost"},
		"a start of which the variables were never seen is not compared": {
			func(r *Request, _ *testing.T) {
				r.lose()
				r.Session.Origin.EnvSeen, r.Session.Origin.Others = false, nil
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			c.change(r, t)
			_, notSent := Of(*r)
			if c.why == "" {
				require.Nil(t, notSent)
				return
			}
			require.NotNil(t, notSent)
			require.Equal(t, resume.Park, notSent.Then)
			require.Contains(t, notSent.Reason().Text, c.why)
		})
	}
}

// loseEditor is a restart after which only a harmless variable differs.
func (r *Request) loseEditor() {
	r.lose()
	r.Daemon = slices.Concat(childenv.Without(daemons, "DATABASE_URL", "EDITOR"), []string{"DATABASE_URL=dev", "EDITOR=ed"})
}

func TestWhatIsNotAsItWasIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"nothing":              {func(*Request) {}, ""},
		"less than it might":   {func(r *Request) { r.Session.Origin.ResumeLacks = "no new privileges" }, "a resume is more restricted than the session was: no new privileges"},
		"a value that is lost": {func(r *Request) { r.loseEditor() }, "variables EDITOR: the values that the session had are lost since a restart, and yours differ"},
		"a switch that acts":   {func(r *Request) { r.Configured = []string{"BOT_GO_ON=1"} }, "variables BOT_GO_ON: with them the agent acts by itself when it starts"},
		"one whose value is lost": {func(r *Request) {
			o := r.Session.Origin
			bot{}.Variables().Record(o, append(slices.Clone(had), "BOT_GO_ON=1"), false)
			r.lose()
			r.Changed = Tell
		}, "variables BOT_GO_ON: with them"},
		"a file that changed":                         {func(r *Request) { r.change(t); r.Command.AskMode = true }, "settings.json: changed since the session was started"},
		"a variable that the service manager refuses": {func(r *Request) { r.Configured = []string{"BASH_FUNC_x%%=() { :; }"}; startedByManager(t) }, "variables BASH_FUNC_x%%: the service manager"},
	} {
		r := request()
		c.change(r)
		env, notSent := Of(*r)
		require.Nil(t, notSent, name)
		told := strings.Join(leash.Describe(env.LeftOut), "\n")
		require.Contains(t, told, c.want, name)
		require.Equal(t, c.want == "", told == "", name)
	}
}

// startedByManager makes this process look like a daemon that a user's service manager has started.
func startedByManager(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "systemd", "private"), 0o700))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("INVOCATION_ID", "1")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
}
