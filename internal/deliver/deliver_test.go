package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
)

// run makes the agent's plan a script.
func (w *world) run(script string) {
	w.agent.plan.Run.Argv = []string{"sh", "-c", script}
}

func (w *world) output() string {
	data, err := os.ReadFile(filepath.Join(w.d.opts.StateDir, "runs", "s-1", "1.log"))
	require.NoError(w.t, err)
	return string(data)
}

func TestACommandIsRunInItsDirectoryWithItsMark(t *testing.T) {
	w := newWorld(t)
	w.agent.plan.Run.Env = []string{"OWN=2"}
	w.run(`pwd; echo "$RESUMED_MARK $EXTRA $OWN"`)
	require.Equal(t, []string{"sending", "started", "delivered"}, w.act())
	require.Equal(t, w.session.Cwd+"\n"+w.mark+" 1 2\n", w.output())
	require.Equal(t, resume.Settling, w.now().State)
	require.Equal(t, 2, w.agent.tidied, "before the run, and after it")
}

// The claim is on disk before the gates are asked, and before a prompt may reach another program's
// process.
func TestTheClaimIsOnDiskFirst(t *testing.T) {
	w := newWorld(t)
	w.look = func(context.Context) error { w.diary.add("looked"); return nil }
	w.d.Act(t.Context(), w.now())
	require.Equal(t, []string{"on disk", "looked"}, w.diary.all()[:2])

	w = newWorld(t)
	w.onNotedMachine(ways["a command that hands it over"].way)
	w.d.Act(t.Context(), w.now())
	require.Equal(t, []string{"on disk", "may have been handed over", "on disk", "starts"}, w.diary.all()[:4])

	full := func(o *Options) {
		o.Sync = func(context.Context, ...resume.Key) error { return errors.New("no space left") }
	}
	w = newWorld(t, full)
	require.Equal(t, []string{"not sent: the claim could not be written to disk: no space left"}, w.act())
}

func TestWhatHoldsAResumeBack(t *testing.T) {
	t.Parallel()
	owner := &resume.Owner{PID: 42, Kind: "interactive"}
	for name, c := range map[string]struct {
		given func(*world)
		want  []string
	}{
		"the transcript cannot be read": {
			func(w *world) { w.look = func(context.Context) error { return errors.New("gone") } },
			[]string{"not sent: the transcript could not be read again: gone"},
		},
		"the daemon stops": {
			func(w *world) {
				w.stopping, w.look = true, func(context.Context) error { return errors.New("watcher has stopped") }
			},
			[]string{},
		},
		"the transcript has moved": {
			func(w *world) { w.look = func(context.Context) error { w.session.Run = nil; return nil } },
			[]string{},
		},
		"another resume has begun meanwhile": {
			func(w *world) {
				w.look = func(context.Context) error { w.session.Run = &resume.Run{Mark: "mark-2"}; return nil }
			},
			[]string{},
		},
		"a person went on elsewhere in the directory": {
			func(w *world) { w.why = "you went on in s-2" },
			[]string{"parked: you went on in s-2"},
		},
		"whether a person went on is not known": {
			func(w *world) { w.silent = errors.New("the engine has stopped") },
			[]string{},
		},
		"the agent is switched off": {
			func(w *world) { w.settings.Agent = func(string) agent.Agent { return nil } },
			[]string{"not sent: the agent fake is not configured or switched off"},
		},
		"its directory is excluded": {
			func(w *world) { w.settings.Rules.Include = []string{"/elsewhere"} },
			[]string{"parked: its directory is not among resume.include"},
		},
		"its transcript lies elsewhere": {
			func(w *world) { w.session.Transcript = "/elsewhere/s-1.log" },
			[]string{"not sent: its transcript /elsewhere/s-1.log is in none of the configured roots"},
		},
		"who holds it is not known": {
			func(w *world) { w.agent.ownerErr = errors.New("no /proc") },
			[]string{"not sent: cannot tell whether another process has the session open: no /proc"},
		},
		"processes cannot be seen": {
			func(w *world) { w.agent.ownerErr = fmt.Errorf("read /proc: %w", agent.ErrUnseen) },
			[]string{"not sent: cannot tell whether another process has the session open: " + agent.ErrUnseen.Error()},
		},
		"its id would be read as an option": {
			func(w *world) { w.session.Key.ID = "--help" },
			[]string{`parked: session id "--help" must begin with one of a-z, A-Z and 0-9`},
		},
		"what is new in the transcript names an excluded directory": {
			func(w *world) {
				w.settings.Rules.Include = []string{w.session.Cwd}
				w.look = func(context.Context) error { w.session.Cwd = w.agent.root; return nil }
			},
			[]string{"parked: its directory is not among resume.include"},
		},
		"the rest of the week is kept for people": {
			func(w *world) {
				w.settings.Rules.WeeklyReserve = 20
				w.session.Usage = resume.Usage{WeekUsed: 90, WeekResetsAt: time.Now().Add(time.Hour)}
			},
			[]string{"not sent: 90 % of the week's allowance is used, and the last 20 % are kept for you (resume.weekly_reserve): it waits for the new week; `resumed retry s-1` continues it now"},
		},
		"the agent has no plan": {
			func(w *world) { w.agent.planErr = errors.New("no program") },
			[]string{"not sent: no program"},
		},
		"the agent leaves it": {
			func(w *world) { w.agent.plan = agent.Plan{Skip: &agent.Skip{Why: "it goes on by itself"}} },
			[]string{"not sent: it goes on by itself"},
		},
		"a process holds it that cannot be reached": {
			func(w *world) { w.agent.owner = owner },
			[]string{"not sent: open in its terminal: continue there, or quit it and resumed continues it; resumed cannot type there (process 42): it takes no prompt from outside"},
		},
		"a process holds it that ends by itself": {
			func(w *world) { w.agent.owner = &resume.Owner{PID: 42, Kind: "headless"} },
			[]string{"not sent: process 42 runs it without a terminal, and is waited for"},
		},
		"a process holds it, and a person wants to be told": {
			func(w *world) {
				w.agent.owner, w.settings.Live = owner, Notify
				w.agent.talk.Type = new(agent.Typing)
			},
			[]string{`parked: open in its terminal (process 42): resume.live is "notify"`},
		},
		"a process holds it, and that is to be ignored": {
			func(w *world) {
				w.agent.owner, w.settings.Live = owner, Ignore
				w.agent.talk.Type = new(agent.Typing)
			},
			[]string{`not sent: open in its terminal (process 42): resume.live is "ignore"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			require.Equal(t, c.want, w.act())
			require.NoDirExists(t, filepath.Join(w.d.opts.StateDir, "runs"), "nothing was prepared")
		})
	}
}

func TestASessionIsLeftToWhoHasItsLease(t *testing.T) {
	w := newWorld(t)
	held, err := lease.Acquire(w.d.opts.LeaseDirs, "fake", "s-1")
	require.NoError(t, err)
	got := w.act()
	require.Len(t, got, 1)
	require.Contains(t, got[0], "not sent: another resumed")
	require.NoError(t, held.Release())

	w.session = w.session.Next(resume.Due{Mark: "mark-2"}, rules, time.Now().Add(time.Hour), 0.5)
	require.Contains(t, w.act(), "delivered", "it is free again")
	again, err := lease.Acquire(w.d.opts.LeaseDirs, "fake", "s-1")
	require.NoError(t, err, "and it was given back")
	_, err = w.d.leases.take(w.session.Key)
	require.ErrorContains(t, err, "another resumed", "so the next resume must take it anew")
	require.NoError(t, again.Release())

	w = newWorld(t)
	require.NoError(t, os.WriteFile(w.d.opts.LeaseDirs[0], nil, 0o600))
	require.Contains(t, last(w.act()), "not sent: cannot tell whether another program looks after the session")
}

func TestADryRunSaysWhatItWouldDoAndDoesNothing(t *testing.T) {
	dry := func(o *Options) { o.DryRun = true }
	w := newWorld(t, dry)
	w.run("touch touched")
	require.Equal(t, []string{"parked: dry run: would have run sh -c 'touch touched'"}, w.act())
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
	require.NoDirExists(t, w.d.opts.StateDir)
	require.NoDirExists(t, w.d.opts.LeaseDirs[0])

	w = newWorld(t, dry)
	w.agent.owner = &resume.Owner{PID: 42, Kind: "interactive"}
	w.agent.talk.Run = &agent.Command{Argv: []string{"touch", "touched"}, Dir: w.session.Cwd, Unverifiable: true}
	require.Equal(t, []string{"parked: dry run: would have run touch touched"}, w.act())
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
}

func TestHowACommandEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given func(*world)
		want  []string
	}{
		"it fails": {
			func(w *world) { w.run("echo; echo 'no such model'; exit 3") },
			[]string{"sending", "started", "failed: exit status 3: no such model"},
		},
		"it was refused a permission": {
			func(w *world) { w.agent.denied = "Bash" },
			[]string{"sending", "started", "denied: " + agent.Denial{Tool: "Bash"}.String()},
		},
		"its program is missing": {
			func(w *world) { w.agent.plan.Run.Argv = []string{"/no/such/program"} },
			[]string{"sending", `parked: find program "/no/such/program": stat /no/such/program: no such file or directory`},
		},
		"its directory is gone": {
			func(w *world) { w.agent.plan.Run.Dir = "/no/such/directory" },
			[]string{"sending", `parked: enter directory "/no/such/directory": no such file or directory`},
		},
		"it takes too long": {
			func(w *world) { w.settings.Timeout = 2 * time.Second; w.run("sleep 600") },
			[]string{"sending", "started", "timed_out: the command was ended: it ran longer than 2s"},
		},
		"it takes too long, and was refused a permission": {
			func(w *world) { w.settings.Timeout, w.agent.denied = 2*time.Second, "Bash"; w.run("sleep 600") },
			[]string{"sending", "started", "timed_out: the command was ended: it ran longer than 2s"},
		},
		"its agent is switched off meanwhile": {
			func(w *world) {
				w.diary.told = func(line string) {
					if line == "started" {
						w.settings.Agent = func(string) agent.Agent { return nil }
					}
				}
			},
			[]string{"sending", "started", "delivered"},
		},
		"its environment cannot be read": {
			func(w *world) {
				w.settings.Env = func(string) ([]string, error) { return nil, errors.New("no env file") }
			},
			[]string{"parked: no env file"},
		},
		"what it may lose cannot be copied aside": {
			func(w *world) { w.agent.plan.Run.Backup = []string{"/no/such/file"} },
			[]string{"not sent: the transcript could not be copied aside: open /no/such/file: no such file or directory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			require.Equal(t, c.want, w.act())
		})
	}
}

// A resume that is withdrawn between the plan and the command is not sent.
func TestAResumeThatIsWithdrawnAtTheLastMomentIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.run("touch touched")
	w.settings.Env = func(string) ([]string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.session = w.session.Next(resume.Forget{}, rules, w.session.LimitedAt, 0.5)
		return nil, nil
	}
	require.Equal(t, []string{"sending"}, w.act(), "the engine is asked, and says no")
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
}

// The end of a command that only hands the prompt over proves nothing: the transcript must show the
// prompt, or the agent must have it in its queue.
func TestWhatBecomesOfAQueuedPrompt(t *testing.T) {
	t.Parallel()
	hand := func(script string) *world {
		w := newWorld(t)
		w.agent.owner = &resume.Owner{PID: 42, Kind: "interactive"}
		w.agent.talk.Run = &agent.Command{Argv: []string{"sh", "-c", script}, Dir: w.session.Cwd, Unverifiable: true}
		return w
	}
	w := hand("exit 1")
	require.Equal(t, []string{
		"may have been handed over",
		"unknown: the prompt could not be handed over: exit status 1; look at the session before you retry",
	}, w.act())

	w = hand("")
	w.agent.talk.Run.Argv[2] = "echo prompt >> " + w.session.Transcript
	require.Equal(t, []string{"may have been handed over", "delivered"}, w.act())
}

// A person who stops a resume waits no longer than its command needs to end.
func TestStopEndsTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.session.Cwd, "go"), 0o600))
	gate, err := os.OpenFile(filepath.Join(w.session.Cwd, "go"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer gate.Close()
	w.run("read line < go")
	done := make(chan []string)
	go func() { done <- w.act() }()
	require.NoError(t, w.d.Stop(t.Context(), w.now().Key, w.mark))
	_, err = gate.WriteString("\n") // what is not stopped ends by itself
	require.NoError(t, err)
	got := <-done
	require.Contains(t, got[len(got)-1], "the command was stopped")
	require.NoError(t, w.d.Stop(t.Context(), w.now().Key, w.mark), "there is nothing left to stop")
}

// Stop waits for a command that is being started, but not for one that has ended, was replaced, or cannot be stopped.
func TestWhatStopWaitsFor(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*world)
		err   string
		waits time.Duration
	}{
		"it is being started":             {func(*world) {}, "the resume is still being started: try again", stopPatience},
		"it has ended":                    {func(w *world) { w.session.Run = nil }, "", 0},
		"another resume has begun":        {func(w *world) { w.session.Run = &resume.Run{Mark: "mark-2"} }, "", 0},
		"the prompt was handed over":      {func(w *world) { w.session.Run.Unverifiable = true }, "", 0},
		"the session is not known":        {func(w *world) { w.unknown = resume.ErrNoSession }, resume.ErrNoSession.Error(), 0},
		"it has ended after some seconds": {func(w *world) { time.AfterFunc(2100*time.Millisecond, w.ends) }, "", 2200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.given(w)
				began := time.Now()
				err := w.d.Stop(t.Context(), w.now().Key, w.mark)
				require.Equal(t, c.waits, time.Since(began))
				if c.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, c.err)
				}
			})
		})
	}
}

func (w *world) ends() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session.Run = nil
}

// An event that the engine does not take is logged, unless nobody has to know: the daemon stops, or the session is gone.
func TestAnEventThatIsNotAppliedIsLogged(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx    context.Context
		err    error
		logged bool
	}{{t.Context(), errors.New("full"), true}, {stopping, errors.New("full"), false}, {t.Context(), resume.ErrNoSession, false}} {
		w := newWorld(t)
		w.refused = c.err
		was := w.now()
		require.Equal(t, was, w.d.note(c.ctx, was, resume.Learned{Kind: resume.Headless}), "nothing is known about it")
		require.Equal(t, c.logged, strings.Contains(w.log.String(), "an event could not be applied"))
	}
	w := newWorld(t)
	require.Equal(t, "/bin/bot", w.d.note(t.Context(), w.now(), resume.Learned{Origin: &resume.Origin{Program: resume.Program{Path: "/bin/bot"}}}).Origin.Program.Path)
}

// A prompt that does not appear in the transcript is not sent again, unless the agent has it in its queue. A daemon
// that stops leaves the question to the next one.
func TestAPromptThatDoesNotAppear(t *testing.T) {
	for name, c := range map[string]struct {
		queued, stops bool
		want          []string
	}{
		"nothing shows it":    {false, false, []string{"may have been handed over", "unknown: the prompt was typed and sent, and did not appear in the transcript within 10s; look at the session before you retry"}},
		"the agent queued it": {true, false, []string{"may have been handed over", "delivered"}},
		"the daemon stops":    {true, true, []string{"may have been handed over"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := inField(t, new(field))
				w.agent.queued = c.queued
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if c.stops {
					time.AfterFunc(linePatience/2, stop)
				}
				began := time.Now()
				w.d.Act(ctx, w.now())
				require.Equal(t, c.want, slices.DeleteFunc(w.diary.all(), func(line string) bool { return line == "on disk" }))
				require.Equal(t, c.stops, time.Since(began) < linePatience)
			})
		})
	}
}

// The claim of a prompt names the process that gets it: the terminal's, or the one that has the session open.
func TestAClaimNamesTheProcessThatGetsThePrompt(t *testing.T) {
	typed := resume.Process{PID: 43, Start: 7}
	for name, c := range map[string]struct {
		way  func(*world)
		want resume.Process
	}{
		"a command that hands it over": {ways["a command that hands it over"].way, resume.Process{PID: 42}},
		"a terminal": {func(w *world) {
			ways["a terminal"].way(w)
			w.agent.talk.Type.Process = typed
		}, typed},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.onNotedMachine(c.way)
			var got resume.Process
			w.diary.told = func(line string) {
				if line == "may have been handed over" {
					got = w.session.Run.Process
				}
			}
			w.act()
			require.Equal(t, c.want, got, name)
		})
	}
}

// Unrecognised screens are counted only while the session is stopped.
func TestLooksAtAScreenOfBeforeDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.d.machine = noting{w: w}
		w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
		strange := agent.ScreenState{Strange: true, Skip: &agent.Skip{Why: "its screen is not known", Park: true}}
		w.agent.talk.Type = &agent.Typing{Judge: func(string) agent.ScreenState { return strange }}
		require.Contains(t, w.act()[0], "look 1 of 3")
		w.d.Changed(resume.Change{Event: resume.Forget{}, After: resume.Session{Key: w.session.Key, State: resume.Watching}})
		require.Contains(t, w.actAgain()[1], "look 1 of 3", "a person has gone on with it meanwhile")
	})
}
