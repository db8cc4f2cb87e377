package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/lease"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

const (
	atOnce  = "503 The model is overloaded."
	soon    = "503 The model is overloaded. Please retry in 3s."
	inHours = "503 The model is overloaded. Please retry in 3h."
	tooLate = "503 The model is overloaded. Please retry in 300h."
)

// situation is the state of a lockless agent's session when it is due.
type situation struct {
	before func(*stay) // before the daemon starts
	words  string      // of the error; empty: atOnce
	then   func(*stay) // when it waits
	only   string      // for this agent only

	state   resume.State
	why     string // in its reason
	runs    int
	pending bool        // it is checked again
	check   func(*stay) // further checks
}

func inDirectory(args ...string) func(*stay) {
	return func(s *stay) { s.lives(s.path(s.dir), args...) }
}

// leased lets another process hold the lease of the session.
func leased(s *stay) {
	held, err := lease.Acquire([]string{s.path("runtime/resumed/leases")}, s.agent.name, s.id)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = held.Release() })
}

func order(args ...string) func(*stay) {
	return func(s *stay) {
		_, errOut, code := s.run(append(slices.Clone(args), s.id)...)
		require.Zero(s.t, code, errOut)
	}
}

// newcomer is another session in the same directory that a person has started.
func newcomer(s *stay) {
	other := *s
	other.id = other.agent.prefix + "f" + s.id[len(other.agent.prefix)+1:]
	other.tellsPlace()
	other.write(other.chat(), other.fill(other.agent.begin()))
	other.answers()
}

// excluded is the situation that the configuration makes.
const excluded = "its directory is excluded"

var situations = map[string]situation{
	// Which process holds it.
	"nobody lives there":                {state: resume.Watching, runs: 1},
	"a person lives in the directory":   {before: inDirectory(), state: resume.Waiting, why: "open in its terminal", pending: true},
	"a person resumed it there":         {before: inDirectory("--resume", "latest"), state: resume.Waiting, why: "open in its terminal", pending: true},
	"a run without a terminal is there": {before: inDirectory("-p", "go"), state: resume.Waiting, why: "without a terminal, and is waited for", pending: true},
	"a person lives there by another name": {
		before: func(s *stay) {
			require.NoError(s.t, os.Symlink(s.path(s.dir), s.path(s.dir+"-link")))
			s.lives(s.path(s.dir + "-link"))
		},
		state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"two writers live there": {
		before: func(s *stay) { inDirectory()(s); inDirectory()(s) }, state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"a process elsewhere names the session": {
		before: func(s *stay) { s.lives(s.home, "--resume", s.id) }, state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"a process elsewhere names it in one word": {
		before: func(s *stay) { s.lives(s.home, "--resume="+s.id) }, state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"a person lives in another directory": {before: func(s *stay) { s.lives(s.home) }, state: resume.Watching, runs: 1},
	"another program lives there": {
		before: func(s *stay) {
			s.standIn("vim", idleEnv, idle{}, s.path(s.dir), s.agent.program)
		},
		state: resume.Watching, runs: 1,
	},
	"who lived there is dead": {
		before: func(s *stay) {
			inDirectory()(s)
			s.bury()
		},
		state: resume.Watching, runs: 1,
	},
	"another resumed looks after it": {before: leased, state: resume.Waiting, why: "looks after this session", pending: true},

	// What happened meanwhile.
	"it goes on by itself": {
		before: inDirectory(), words: soon, then: (*stay).answers, state: resume.Watching, why: "continued by itself",
	},
	"a person gave it a prompt": {
		words: soon, then: func(s *stay) { s.say(s.agent.prompt("never mind, do this")) }, state: resume.Watching, why: "continued by a person",
	},
	"another resumed gave it a prompt": {
		before: leased, words: soon, then: func(s *stay) { s.say(s.agent.prompt("continue")) }, state: resume.Watching, why: "continued by another resumed",
	},
	"a person stopped the turn":   {words: soon, then: func(s *stay) { s.say(s.agent.cancel) }, state: resume.Watching, why: "stopped by a person"},
	"a person cancelled the wait": {words: inHours, then: order("cancel"), state: resume.Watching, why: "cancelled by you"},
	"a person wants it now":       {words: inHours, then: order("retry", "--now"), state: resume.Watching, runs: 1},
	"a person wants it now, and lives there": {
		before: inDirectory(), words: inHours, then: order("retry", "--now"), state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"a person paused it": {
		words: soon, then: order("pause"), state: resume.Waiting, why: "overloaded", pending: true,
		check: func(s *stay) {
			later := s.stay(s.agent, 250)
			later.stops(fmt.Sprintf("503 The model is overloaded. Please retry in %ds.", 1+max(0, int(time.Until(*s.session(s.id).NextAt)/time.Second))))
			s.until("what was to be resumed later is", func() bool { return len(later.calls()) == 1 })
			require.Empty(s.t, s.calls())
			order("unpause")(s)
			s.until("it is resumed", func() bool { return len(s.calls()) == 1 })
		},
	},
	"a person went on in another session":   {words: soon, then: newcomer, state: resume.Parked, why: "started in the same directory"},
	"the chat is gone":                      {words: soon, then: func(s *stay) { s.remove(s.chat()) }, state: resume.Parked, why: "the transcript is gone"},
	"it is limited for longer than allowed": {words: tooLate, state: resume.Parked, why: "resume.max_wait"},
	"waiting does not help": {
		words: "400 This model's maximum context length is 32768 tokens.", state: resume.Parked, why: "waiting does not help",
	},

	// Where it works.
	"the directory moved away": {
		before: func(s *stay) { require.NoError(s.t, os.Rename(s.path(s.dir), s.path(s.dir+"-moved"))) },
		state:  resume.Waiting, why: "is gone: it is continued when that is back", pending: true,
	},
	"a file took the directory's place": {
		before: func(s *stay) { s.remove(s.dir); s.write(s.dir, "") }, state: resume.Parked, why: "is not a directory any more",
	},
	"another directory took its place": {
		words: soon,
		then:  func(s *stay) { s.remove(s.dir); s.write(s.dir+"/other.go", "package other\n") },
		state: resume.Parked, why: "replaced by another directory",
		check: func(s *stay) {
			order("retry", "--now")(s)
			s.until("a person wants it all the same", func() bool { return len(s.calls()) == 1 })
		},
	},
	excluded: {state: resume.Watching, why: "resume.exclude"},

	// What Gemini CLI may lose.
	"the chat is copied before a run": {
		only: "gemini", state: resume.Watching, runs: 1,
		check: func(s *stay) { require.Contains(s.t, s.read(s.chat()), s.kept(1)); require.NotEmpty(s.t, s.kept(1)) },
	},
	"a chat that cannot be copied is not risked": {
		only: "gemini", before: func(s *stay) { s.write(".local/state/resumed/kept/"+s.id, "") },
		state: resume.Waiting, why: "could not be copied aside", pending: true,
	},
	"a stub is removed before a run": {
		only: "gemini", before: (*stay).stub, state: resume.Watching, runs: 1,
		check: func(s *stay) { require.Empty(s.t, s.read(s.stubName())); require.NotEmpty(s.t, s.read(s.chat())) },
	},
	"a stub of a living process is its own": {
		only: "gemini", before: func(s *stay) { s.stub(); inDirectory()(s) }, state: resume.Waiting, why: "open in its terminal", pending: true,
		check: func(s *stay) { require.NotEmpty(s.t, s.read(s.stubName())) },
	},
	"the project's root is not known": {
		only: "gemini", before: func(s *stay) { s.remove(".gemini/tmp/" + s.dir + "/.project_root") },
		state: resume.Parked, why: "directory is not known",
	},
	"the chat is another session's by now": {
		only: "gemini", words: soon,
		then: func(s *stay) {
			s.write(s.chat(), strings.Replace(s.read(s.chat()), s.id, s.otherID(), 1))
		},
		state: resume.Parked, why: "not of session",
	},
	"a prompt with a picture cannot be given again": {
		only: "gemini", words: soon,
		then: func(s *stay) {
			picture := `[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]`
			text := strings.Replace(s.read(s.chat()), `[{"text":"second turn"}]`, picture, 1)
			s.write(s.chat(), text)
		},
		state: resume.Parked, why: "cannot be given again",
	},

	// What only Kimi Code in a terminal does.
	"its mode asks": {
		only: "kimi", words: soon, then: func(s *stay) { s.say(kimiRecord("permission.set_mode", map[string]any{"mode": "manual"})) },
		state: resume.Parked, why: "kimi -p never asks",
	},

	// What Qwen Code does by itself.
	"it still tries by itself": {
		only: "qwen-code", before: inDirectory(), then: func(s *stay) { s.say(s.agent.refusal(atOnce)) },
		state: resume.Waiting, why: "open in its terminal", pending: true,
	},
	"a helper of it was refused": {
		only: "qwen-code", words: soon,
		then: func(s *stay) {
			s.answers()
			s.say(strings.Replace(s.agent.refusal(inHours), `"auth_type"`, `"subagent_name":"memory","auth_type"`, 1))
		},
		state: resume.Watching, why: "continued by itself",
	},
}

func (s *stay) remove(name string) { require.NoError(s.t, os.RemoveAll(s.path(name))) }

// otherID is the id of a session that took over the chat. It is stopped as well, and may be resumed: then it moves, so
// that it does not hold back others.
func (s *stay) otherID() string { return strings.Replace(s.id, "-4000-", "-4fff-", 1) }

func (s *stay) stubName() string {
	return strings.Replace(s.chat(), "T00-19", "T00-42", 1)
}

// stub is the file that a run in a later minute leaves next to the chat.
func (s *stay) stub() {
	lines := strings.SplitAfter(s.fill(s.agent.begin()), "\n")
	s.write(s.stubName(), lines[0]+lines[1])
}

// bury kills the processes in the directory.
func (s *stay) bury() {
	for _, pid := range s.pidsIn(s.dir) {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	s.until("it is gone", func() bool { return len(s.pidsIn(s.dir)) == 0 })
}

// Each situation has one correct action. One daemon handles all of them at once: none may affect
// another.
func TestSituationsOfAgentsWithoutALock(t *testing.T) {
	b := newBox(t)
	type scene struct {
		*stay
		situation
		name string
	}
	var scenes []scene
	var exclude []string
	for _, name := range slices.Sorted(maps.Keys(situations)) {
		for _, a := range []lockless{geminiCLI, qwenCode, copilotCLI, kimiCode, piAgent} {
			if c := situations[name]; c.only == "" || c.only == a.name {
				scenes = append(scenes, scene{b.stay(a, len(scenes)), c, a.name + "/" + name})
			}
			if name == excluded {
				exclude = append(exclude, strconv.Quote(scenes[len(scenes)-1].stay.path(scenes[len(scenes)-1].dir)))
			}
		}
	}
	b.configureLockless("exclude = [" + strings.Join(exclude, ", ") + "]")
	geminiCLI.write(b, "")
	qwenCode.write(b, "")
	copilotCLI.write(b, "")
	kimiCode.write(b, "")
	piAgent.write(b, "")
	for _, sc := range scenes {
		if sc.before != nil {
			sc.before(sc.stay)
		}
	}
	b.start()
	for _, sc := range scenes {
		words := sc.words
		if words == "" {
			words = atOnce
		}
		sc.stops(words)
		if sc.then != nil {
			b.untilState(sc.id, resume.Waiting)
			sc.then(sc.stay)
		}
	}
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			outer := b.t
			b.t = t
			defer func() { b.t = outer }()
			var v view.Session
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("it is %s because %q", v.State, v.Reason)
				}
			})
			b.until(fmt.Sprintf("it is %s because %q", sc.state, sc.why), func() bool {
				v = b.session(sc.id)
				return v.State == sc.state && strings.Contains(v.Reason, sc.why) && len(sc.calls()) >= sc.runs
			})
			calls := slices.DeleteFunc(append([]string{}, sc.calls()...), func(call string) bool { return strings.Contains(call, sc.otherID()) })
			require.Equal(t, slices.Repeat([]string{sc.stay.call()}, sc.runs), calls, "in its own directory, with nothing added")
			require.Equal(t, sc.pending, v.NextAt != nil)
			require.Empty(t, v.Attempts, "what was not sent costs no attempt, and movement forgives")
			if sc.check != nil {
				sc.check(sc.stay)
			}
		})
	}
}

// Settings that apply to all sessions.
func TestWishesOfAgentsWithoutALock(t *testing.T) {
	t.Parallel()
	closed := time.Now().UTC().Add(2 * time.Hour)
	for name, c := range map[string]struct {
		keys    string
		before  func(*stay)
		state   resume.State
		why     string
		pending bool
	}{
		"a person is told, where that is asked for": {
			keys: `live = "notify"`, before: inDirectory(), state: resume.Parked, why: "open in its terminal",
		},
		"a run without a terminal ends by itself": {
			keys: `live = "notify"`, before: inDirectory("-p", "go"), state: resume.Waiting, why: "without a terminal, and is waited for", pending: true,
		},
		"nobody is told, where that is asked for": {
			keys: `live = "ignore"`, before: inDirectory(), state: resume.Waiting, why: "open in its terminal", pending: true,
		},
		"outside of its hours nothing is started": {
			keys:  fmt.Sprintf(`hours = "%s-%s"`, closed.Format("15:04"), closed.Add(time.Hour).Format("15:04")),
			state: resume.Waiting, why: "overloaded", pending: true,
		},
		"a directory that is not among those wanted is left": {keys: `include = ["/nowhere"]`, state: resume.Watching, why: "resume.include"},
		"while all is paused nothing is started": {
			before: func(s *stay) {
				s.start()
				_, errOut, code := s.run("pause")
				require.Zero(s.t, code, errOut)
				s.kill(syscall.SIGTERM)
			},
			state: resume.Waiting, why: "paused", pending: true,
		},
		"a program that is missing is told of": {
			before: func(s *stay) { s.remove("bin/" + s.agent.program) }, state: resume.Parked, why: "was not found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.configureLockless(c.keys)
			stays := []*stay{b.stay(geminiCLI, 1), b.stay(qwenCode, 2)}
			for _, s := range stays {
				s.agent.write(b, "")
				if c.before != nil {
					c.before(s)
				}
			}
			b.start()
			for _, s := range stays {
				s.stops(atOnce)
				var v view.Session
				b.until(fmt.Sprintf("%s is %s because %q", s.agent.name, c.state, c.why), func() bool {
					v = b.session(s.id)
					return v.State == c.state && strings.Contains(v.Reason, c.why)
				})
				require.Equal(t, c.pending, v.NextAt != nil)
				require.Empty(t, v.Attempts)
				require.Empty(t, s.calls())
			}
		})
	}
}

// A process that cannot be reached keeps its session waiting. A person is notified once, and only needs
// to end the process.
func TestAPersonIsToldOfASessionThatOnlyTheyCanReach(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.configureLockless("")
	b.appendTo(configFile, fmt.Sprintf("[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"hook\"\nurl = %q\n", hook.URL))
	s := b.stay(geminiCLI, 1)
	s.agent.write(b, "")
	inDirectory()(s)
	b.start()
	s.stops(atOnce)
	held := func() bool {
		v := b.session(s.id)
		return v.State == resume.Waiting && strings.Contains(v.Reason, "continue there, or quit it")
	}
	b.until("it waits for its process", held)
	b.until("a person is told", func() bool { return len(hook.got()) == 1 })
	notice := hook.got()[0]
	require.Equal(t, notify.Parked, notice.Event)
	require.Contains(t, notice.Title, "needs you")
	require.Contains(t, notice.Text, "Continue there, or quit it")
	require.Empty(t, notice.RetryCommand, "it is looked at again by itself")

	b.kill(syscall.SIGTERM)
	b.start()
	order("retry", "--now")(s)
	b.until("it waits on", held)
	for _, pid := range s.pidsIn(s.dir) {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	order("retry", "--now")(s)
	b.untilState(s.id, resume.Watching)
	require.Equal(t, []string{s.call()}, s.calls())
	require.LessOrEqual(t, len(hook.got()), 2, "once is enough, and once more for who asked")
}

func TestDryRunOfAgentsWithoutALock(t *testing.T) {
	b := newBox(t)
	b.configureLockless("")
	stays := []*stay{b.stay(geminiCLI, 1), b.stay(qwenCode, 2)}
	for _, s := range stays {
		s.agent.write(b, "")
		s.stops(atOnce)
	}
	b.proc = b.command("run", "--dry-run")
	require.NoError(t, b.proc.Start())
	t.Cleanup(func() { b.kill(syscall.SIGKILL) })
	for _, s := range stays {
		b.until("it says what it would do", func() bool { return strings.Contains(b.logged(), "--resume "+s.id) })
		require.Empty(t, s.calls())
		require.Empty(t, s.kept(1))
	}
}
