package deliver

import (
	"context"
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
		"it can be sent a message":    {func(w *world) { w.agent.talk.Send = &agent.Sending{To: "it"} }, true, "", false},
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

	w.d.Changed(resume.Change{After: w.now()})
	require.Empty(t, w.d.tracker.allOpen())
	require.NotPanics(t, func() { w.d.lookAtHolders(context.Background()) })
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
