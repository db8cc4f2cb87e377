package deliver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// stopped is a session that was stopped an hour before its limit lifts, and that a live process has
// open.
func stopped(t *testing.T) *world {
	w := newWorld(t)
	ago := time.Now().Add(-time.Minute)
	s := resume.Session{Key: w.session.Key, Cwd: w.session.Cwd, Transcript: w.session.Transcript}
	w.session = s.Next(resume.Limited{At: ago, Verdict: limit.Verdict{
		Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: time.Now().Add(time.Hour), Source: limit.Structured},
	}}, rules, ago, 0.5)
	require.Equal(t, resume.Waiting, w.session.State)
	w.agent.owner = &resume.Owner{PID: 42, Kind: "interactive"}
	return w
}

// It is reported at once that nothing can be typed, not only when the session is due.
func TestWhoCannotBeReachedIsToldOfWhenItIsStopped(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		given func(*world)
		known bool   // whether it is known
		why   string // in the reason; "": it can be given the prompt
		told  bool
	}{
		"there is no way to reach it": {func(*world) {}, true, "it takes no prompt from outside", true},
		"it can be typed into":        {func(w *world) { w.agent.talk.Type = new(agent.Typing) }, true, "", false},
		"it works": {
			func(w *world) { w.agent.talk.Skip = &agent.Skip{Why: "it works"} }, false, "", false,
		},
		"it goes on by itself": {
			func(w *world) { w.agent.talk.Skip = &agent.Skip{Why: "it goes on", Until: time.Now().Add(time.Hour)} }, true, "", false,
		},
		"nobody knows which one holds it": {
			func(w *world) {
				w.agent.talk.Skip = &agent.Skip{Why: "2 live processes hold the session", Park: true}
			}, true, "2 live processes", true,
		},
		"a person wants to be told of live ones when it is due": {
			func(w *world) { w.settings.Live = Notify }, true, `there (process 42): resume.live is "notify"`, false,
		},
		"a person wants to be told of none": {
			func(w *world) { w.settings.Live = Ignore }, true, `there (process 42): resume.live is "ignore"`, false,
		},
		"it ends by itself":           {func(w *world) { w.agent.owner.Kind = "headless" }, true, "", false},
		"it was stopped a moment ago": {func(w *world) { w.session.LimitedAt = time.Now() }, false, "", false},
	} {
		t.Run(rule, func(t *testing.T) {
			w := stopped(t)
			c.given(w)
			require.Equal(t, c.known, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{weigh: true}))
			now := w.now()
			require.Equal(t, c.told, now.Reported)
			require.Contains(t, now.Unreached, c.why)
			if c.why == "" {
				require.Empty(t, now.Unreached)
				return
			}
			require.True(t, strings.HasPrefix(now.Reason, "open in its terminal: continue there, or quit it"), "what helps comes first: %s", now.Reason)
			require.Equal(t, w.agent.owner, now.Owner)
			w.d.reach(t.Context(), w.agent, now, *w.agent.owner)
			require.Equal(t, []string{"identified as ", "resume.Occupied"}, w.diary.all(), "what is known is not said again")
		})
	}
}

// When the process ends, the session is continued by its rules again. A process that cannot be seen is
// not treated as gone.
func TestTheEndOfAHolderIsSeen(t *testing.T) {
	t.Parallel()
	w := stopped(t)
	require.True(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{weigh: true}))
	w.d.Changed(resume.Change{After: w.now()})

	w.agent.ownerErr = agent.ErrUnseen
	w.d.lookAtHolders(t.Context())
	require.NotNil(t, w.now().Owner)

	w.agent.owner, w.agent.ownerErr = nil, nil
	w.d.lookAtHolders(t.Context())
	require.Nil(t, w.now().Owner)
	require.NotContains(t, w.now().Reason, "process 42")
	require.Equal(t, resume.Released{Closed: true}, lastEvent[resume.Released](w), "its user has closed it")

	w.d.Changed(resume.Change{After: w.now()})
	require.Empty(t, w.d.tracker.allOpen())
	require.NotPanics(t, func() { w.d.lookAtHolders(context.Background()) })
}

// What a person is told first is where the session is, and what helps there.
func TestWhereASessionIsOpenIsSaid(t *testing.T) {
	leaves := Settings{Rules: resume.Rules{Closed: resume.LeaveClosed}}
	for owner, want := range map[resume.Owner]string{
		{PID: 7}:                    "open in its terminal",
		{PID: 7, Tmux: "main:1"}:    "open in tmux main:1",
		{PID: 7, App: "the editor"}: "open in the editor",
	} {
		require.Equal(t, want+": continue there, or quit it and resumed continues it; resumed cannot type there (process 7): why", Settings{}.outOfReach(owner, "why"))
		require.Equal(t, want+": continue there (if you quit it, resumed leaves it to you); resumed cannot type there (process 7): why", leaves.outOfReach(owner, "why"))
	}
}

// The checks of open sessions begin with the first one, whichever method stores it.
func TestTheFirstHolderIsHeardOf(t *testing.T) {
	held := resume.Session{Key: resume.Key{Agent: "bot", ID: "a"}, State: resume.Waiting, Interruption: resume.Interruption{Owner: &resume.Owner{PID: 7}}}
	for name, tell := range map[string]func(*tracker){
		"by the step":    func(h *tracker) { h.follow(held) },
		"by who saw it":  func(h *tracker) { h.saw(held.Key) },
		"by one of both": func(h *tracker) { h.saw(held.Key); h.follow(held) },
	} {
		h := newTracker()
		require.Empty(t, h.allOpen(), "there is nothing to look at")
		tell(h)
		require.Len(t, h.wakeHolders, 1, name)
		require.Len(t, h.allOpen(), 1, name)
	}
}

// A permission that a hook reports is a matter for a person if nobody answers for some seconds. A later
// hook, or a record, is an answer.
func TestAQuestionOfAHookCountsIfNobodyAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w *world)
		want   bool
	}{
		"nobody answers":       {func(*world) {}, true},
		"a record before":      {func(w *world) { w.moved() }, true},
		"a record after it":    {func(w *world) { time.Sleep(2 * writeDelay); w.moved() }, false},
		"a later hook answers": {func(w *world) { w.d.Hooked(w.session.Key, "", true) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := stopped(t)
				w.session = resume.Session{Key: w.session.Key, Cwd: w.session.Cwd, Transcript: w.session.Transcript, State: resume.Watching}
				w.agent.owner = nil
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
				w.d.Hooked(w.session.Key, "permission: Bash (make)", false)
				synctest.Wait()
				c.answer(w)
				time.Sleep(2 * questionDelay)
				synctest.Wait()
				cancel()
				<-done
				require.Equal(t, c.want, w.session.Asks == "permission: Bash (make)", w.session.Reason)
			})
		})
	}
}

func (w *world) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session.MovedAt = time.Now()
}

// asker is a fakeAgent whose processes tell what they ask for.
type asker struct {
	*fakeAgent
	works *resume.Owner
	asks  string
	err   error
	left  bool // by its user
}

func (a *asker) PendingQuestion(context.Context, resume.Session) (*resume.Owner, string, error) {
	return a.works, a.asks, a.err
}

func (a *asker) UserLeft(context.Context, resume.Session) bool { return a.left }

// unattended is a session that works again without a person. If it asks for something, it is parked.
func unattended(t *testing.T, asks string) (*world, *asker) {
	w := newWorld(t)
	owner := &resume.Owner{PID: 42, Kind: resume.Interactive}
	w.agent.owner = nil
	a := &asker{fakeAgent: w.agent, works: owner}
	w.settings.Agent = func(string) agent.Agent { return a }
	w.session = resume.Session{Key: w.session.Key, Cwd: w.session.Cwd, Transcript: w.session.Transcript, State: resume.Watching, Reason: resume.WorksAgain, RecoveredAt: time.Now()}
	require.True(t, w.session.Unattended())
	w.d.tracker.follow(w.session)
	if asks != "" {
		w.session = w.session.Next(resume.Asked{For: asks, Owner: *owner}, rules, time.Now(), 0.5)
		require.Equal(t, asks, w.session.Asks)
	}
	return w, a
}

// What a session asks for while it works without a person is a matter for a person, until it is answered.
func TestWhatASessionAsksForWithoutAPerson(t *testing.T) {
	const bash, edit = "permission: Bash", "permission: Edit"
	for name, c := range map[string]struct {
		before string // what it asked for
		given  func(*world, *asker)
		asks   string
		events []string
		open   bool // it is looked at again
	}{
		"it works":         {"", func(*world, *asker) {}, "", nil, true},
		"it asks":          {"", func(_ *world, a *asker) { a.asks = bash }, bash, []string{"resume.Asked"}, true},
		"it has ended":     {"", func(_ *world, a *asker) { a.works = nil }, "", nil, false},
		"it is not seen":   {"", func(_ *world, a *asker) { a.works, a.err = nil, agent.ErrUnseen }, "", nil, true},
		"nobody tells":     {"", func(w *world, _ *asker) { w.mute() }, "", nil, false},
		"it still asks":    {bash, func(_ *world, a *asker) { a.asks = bash }, bash, nil, true},
		"it was answered":  {bash, func(*world, *asker) {}, "", []string{"resume.Asked"}, true},
		"it asks for more": {bash, func(_ *world, a *asker) { a.asks = edit }, "", []string{"resume.Asked"}, true},
		"it ended then":    {bash, func(_ *world, a *asker) { a.works = nil }, "", []string{"resume.Released"}, true},
		"it is not seen then": {
			bash, func(_ *world, a *asker) { a.works, a.err = nil, agent.ErrUnseen }, bash, nil, true,
		},
		"nobody tells any more": {
			bash, func(w *world, a *asker) { w.mute(); w.agent.owner = a.works }, bash, nil, true,
		},
		"nobody tells, and it has ended": {
			bash, func(w *world, _ *asker) { w.mute() }, "", []string{"resume.Released"}, true,
		},
		"a process that cannot be seen may still run": {
			bash, func(w *world, _ *asker) { w.mute(); w.agent.ownerErr = agent.ErrUnseen }, bash, nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := unattended(t, c.before)
			c.given(w, a)
			w.d.lookAtHolders(t.Context())
			require.Equal(t, c.asks, w.now().Asks)
			require.Equal(t, c.events, w.diary.all())
			if slices.Contains(c.events, "resume.Asked") {
				require.Equal(t, *a.works, lastEvent[resume.Asked](w).Owner)
			}
			require.Equal(t, c.open, len(w.d.tracker.allOpen()) == 1)
		})
	}
}

// mute makes the agent one that does not tell what its processes ask for.
func (w *world) mute() { w.settings.Agent = func(string) agent.Agent { return w.agent } }

// What a hook says counts once. If the process itself says what it asks for, that counts more.
func TestWhatAHookSaysOfAQuestion(t *testing.T) {
	const bash, edit = "permission: Bash", "permission: Edit"
	owner := &resume.Owner{PID: 42, Kind: resume.Interactive}
	for name, c := range map[string]struct {
		before, hook string
		given        func(*world, *asker)
		asks         string
		owner        *resume.Owner
		events       []string
	}{
		"it asks":                        {"", bash, func(w *world, _ *asker) { w.mute(); w.agent.owner = owner }, bash, owner, []string{"resume.Asked"}},
		"it asks, and nobody is seen":    {"", bash, func(w *world, _ *asker) { w.mute(); w.agent.ownerErr = agent.ErrUnseen }, bash, nil, []string{"resume.Asked"}},
		"it says itself what it asks":    {"", bash, func(_ *world, a *asker) { a.asks = edit }, edit, owner, []string{"resume.Asked"}},
		"it says itself that it works":   {"", bash, func(*world, *asker) {}, "", nil, nil},
		"it is known that it asks":       {bash, edit, func(*world, *asker) {}, bash, owner, nil},
		"it was answered":                {bash, "", func(*world, *asker) {}, "", nil, []string{"resume.Asked"}},
		"what nobody asked was answered": {"", "", func(*world, *asker) {}, "", nil, nil},
		"the agent was switched off": {
			"", bash, func(w *world, _ *asker) { w.settings.Agent = func(string) agent.Agent { return nil } }, "", nil, nil,
		},
		"the session was forgotten": {"", bash, func(w *world, a *asker) { w.unknown, a.asks = resume.ErrNoSession, bash }, "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, a := unattended(t, c.before)
				c.given(w, a)
				w.d.Hooked(w.session.Key, c.hook, c.hook == "")
				require.Equal(t, c.hook == "", w.d.lookAtQuestions(t.Context()) == nil, "a question may be answered within seconds")
				time.Sleep(questionDelay)
				require.Nil(t, w.d.lookAtQuestions(t.Context()))
				require.Equal(t, c.asks, w.now().Asks)
				require.Equal(t, c.events, w.diary.all())
				if c.asks != "" {
					require.Equal(t, c.owner, w.now().Owner)
				}
			})
		})
	}
}

// watching runs WatchPrograms for that long.
func (w *world) watching(ctx context.Context, long time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
	time.Sleep(long)
	synctest.Wait()
	cancel()
	<-done
}

// The owner of a stopped session is looked at all the time: its end is seen soon.
func TestTheEndOfAHolderIsSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		require.True(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{weigh: true}))
		w.d.Changed(resume.Change{After: w.now()})
		w.watching(t.Context(), 3*nextHolderLook+1)
		require.NotNil(t, w.now().Owner)
		require.Len(t, w.agent.asked, 4, "once, and in each interval")
		w.agent.owner = nil
		w.watching(t.Context(), nextHolderLook+1)
		require.Nil(t, w.now().Owner)

		w = stopped(t)
		require.True(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{weigh: true}))
		w.agent.owner = nil
		w.d.Hooked(w.session.Key, "", false)
		w.watching(t.Context(), time.Second)
		require.Nil(t, w.now().Owner, "a hook tells it at once")
	})
}

// counting counts what is done with a context, but for waiting for its end.
type counting struct {
	context.Context
	n int
}

func (c *counting) Value(key any) any { c.n++; return c.Context.Value(key) }

// While there is nothing to look for, nothing is looked at.
func TestAnIdleDaemonLooksAtNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		ctx, stop := context.WithCancel(t.Context())
		asked := &counting{Context: ctx}
		done := make(chan struct{})
		go func() { defer close(done); _ = w.d.WatchPrograms(asked) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, asked.n)
		stop()
		<-done
	})
}

// A process shows only after a moment whether it continues by itself.
func TestWhetherAProcessCanBeReachedIsKnownAMomentAfterTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		w.session.LimitedAt = time.Now()
		time.Sleep(decisionTime - time.Nanosecond)
		require.False(t, w.d.reach(t.Context(), w.agent, w.now(), *w.agent.owner))
		time.Sleep(time.Nanosecond)
		require.True(t, w.d.reach(t.Context(), w.agent, w.now(), *w.agent.owner))
	})
}

// A session that its user has left or closed is left alone, unless a process has it open or its user asks for it.
func TestASessionThatItsUserLeftIsNotContinued(t *testing.T) {
	t.Parallel()
	seen := resume.Owner{PID: 42, Kind: resume.Interactive}
	for name, c := range map[string]struct {
		left, closed bool
		given        func(*world)
		want         string
	}{
		"left with /clear": {true, false, func(*world) {}, "not sent: you have left it with /clear"},
		"closed":           {false, true, func(*world) {}, "not sent: you have closed it"},
		"neither":          {false, false, func(*world) {}, "delivered"},
		"open in a process": {
			true, true, func(w *world) {
				w.agent.owner = &seen
				w.agent.talk.Run = &agent.Command{Argv: []string{"sh", "-c", "echo prompt >> " + w.session.Transcript}, Dir: w.session.Cwd, Unverifiable: true}
			}, "delivered",
		},
		"asked for": {true, true, func(w *world) { w.session.RetryAskedAt = time.Now() }, "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.Agent = func(string) agent.Agent { return &asker{fakeAgent: w.agent, left: c.left} }
			w.settings.Rules.Closed = resume.ResumeClosed
			if c.closed {
				w.settings.Rules.Closed, w.session.Owner = resume.LeaveClosed, &seen
				w.d.tracker.saw(w.session.Key)
			}
			c.given(w)
			require.Equal(t, c.want, last(w.act()))
		})
	}
}

// What may pass by itself is told; that a process cannot be reached, with the process.
func TestWhatAnAgentWantsToldIsToldOnce(t *testing.T) {
	for _, owner := range []*resume.Owner{nil, {PID: 42, Kind: resume.Interactive}} {
		w := newWorld(t)
		w.agent.plan = agent.Plan{Skip: &agent.Skip{Why: "its server is away", Tell: true}}
		w.agent.owner, w.agent.talk = owner, w.agent.plan
		require.Equal(t, []string{"not sent: its server is away"}, w.act())
		require.True(t, w.now().Reported)
		require.Equal(t, owner != nil, w.now().Unreached != "")
	}
}
