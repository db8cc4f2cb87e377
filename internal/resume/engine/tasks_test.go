package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
	"resumed/internal/resume/view"
)

// begins is a command that runs on. Its session is observed at once, with these events.
func begins(says resume.Event) func(ctx context.Context, w *world, s resume.Session) {
	return func(ctx context.Context, w *world, s resume.Session) {
		mark := s.Run.Mark
		_, _ = w.Apply(ctx, s.Key, resume.Sending{Mark: mark})
		_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: mark, Process: resume.Process{PID: 9}})
		time.Sleep(time.Second)
		if says != nil {
			_ = w.Observe(ctx, []resume.Observation{{
				Key: s.Key, Account: s.Account, Cwd: s.Cwd, Transcript: "/log", Pos: resume.Position{Epoch: s.Key.ID, Offset: 1}, Event: says,
			}})
		}
		_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
	}
}

func task(id string, change ...func(*resume.Session)) resume.Session {
	s := resume.Session{Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Cwd: "/src/" + id, Task: &resume.Task{Prompt: "do " + id}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func (w *world) enqueue(s resume.Session) resume.Session {
	after, err := w.Enqueue(w.t.Context(), s)
	require.NoError(w.t, err)
	return after
}

func TestATaskIsASessionOnceItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), begins(resume.Progressed{At: time.Now()}))
		require.Equal(t, 1, w.enqueue(task("a")).Task.N)
		require.Equal(t, 2, w.enqueue(task("b")).Task.N)
		all, err := w.Stored(t.Context())
		require.NoError(t, err)
		require.Empty(t, all, "there is no session yet")
		tallies, err := w.Tallies(t.Context())
		require.NoError(t, err)
		require.Empty(t, tallies)
		time.Sleep(time.Hour)
		require.Equal(t, resume.TaskStarted, w.session("a").TaskState())
		require.Equal(t, "a", w.session("a").Task.Session)
		require.Equal(t, resume.Watching, w.session("b").State)
		require.Empty(t, w.session("a").Attempts)
		all, err = w.Stored(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Len(t, w.started(), 2, "each once")
		time.Sleep(25 * time.Hour)
		w.see("other", resume.Progressed{At: time.Now()})
		tasks, err := w.Tasks(t.Context())
		require.NoError(t, err)
		require.Empty(t, tasks, "after a day they are sessions and no more")
		w.stop()
	})
}

func TestATaskWaitsForTheLimitOfItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		w := newWorld(t, rules, begins(resume.Progressed{At: time.Now().Add(3 * time.Hour)}))
		stopped := limited(time.Now(), limit.UsageLimit)
		stopped.Reset = limit.Reset{At: time.Now().Add(2 * time.Hour), Source: limit.Structured}
		w.seeShared("x", stopped)
		w.enqueue(task("a"))
		time.Sleep(time.Hour)
		require.Empty(t, w.started())
		require.Contains(t, sentence.Of(w.session("a")), "limited until")
		require.Equal(t, stopped.Reset.At.Add(rules.Margin).UTC(), *view.OfTask(w.session("a")).NextAt, "a person is told when it begins")
		time.Sleep(2 * time.Hour)
		require.Len(t, w.started(), 2)
		require.Nil(t, w.session("a").Blocked)
		require.GreaterOrEqual(t, w.started()[0], 2*time.Hour)
		w.stop()
	})
}

func TestATaskWhoseSessionIsStoppedWaitsLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := limited(time.Now().Add(time.Second), limit.UsageLimit)
		stopped.Reset = limit.Reset{At: time.Now().Add(2 * time.Hour), Source: limit.Structured}
		w := newWorld(t, defaultRules(), begins(stopped))
		w.enqueue(task("a"))
		time.Sleep(time.Minute)
		s := w.session("a")
		require.Equal(t, resume.Waiting, s.State)
		require.False(t, s.Pending())
		require.Zero(t, s.Tries(), "to begin it was no resume")
		require.Equal(t, stopped.Reset.At.Add(defaultRules().Margin), s.NextAt)
		w.stop()
	})
}

func TestATaskThatComesToNothingIsToldAndNotBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.enqueue(task("a"))
		time.Sleep(time.Hour)
		s := w.session("a")
		require.Equal(t, resume.Parked, s.State)
		require.Equal(t, resume.TaskFailed, s.TaskState())
		require.Contains(t, sentence.Of(s), "exit status 1")
		require.Len(t, w.started(), 1)
		_, err := w.Apply(t.Context(), s.Key, resume.Retry{})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Len(t, w.started(), 2, "a person asked for it")
		require.NoError(t, w.DropTask(t.Context(), s.Key))
		_, err = w.Session(t.Context(), s.Key)
		require.ErrorIs(t, err, resume.ErrNoSession)
		w.stop()
	})
}

// If the id cannot be chosen, the command reports it: the session is another one, and is not resumed
// while that command runs.
func TestATaskBecomesAnotherSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent = 5
		w := newWorld(t, rules, func(ctx context.Context, w *world, s resume.Session) {
			if s.Task == nil {
				fails(ctx, w, s)
				return
			}
			mark := s.Run.Mark
			_, _ = w.Apply(ctx, s.Key, resume.Sending{Mark: mark})
			_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: mark, Process: resume.Process{PID: 9}})
			_ = w.Observe(ctx, []resume.Observation{{
				Key: resume.Key{Agent: "bot", ID: "real"}, Account: "bot:default", Cwd: s.Cwd, Pos: resume.Position{Epoch: "1", Offset: 1}, Event: limited(time.Now(), limit.Overloaded),
			}})
			time.Sleep(10 * time.Minute) // it reports late
			_, _ = w.Apply(ctx, s.Key, resume.Became{Session: "real"})
			time.Sleep(time.Hour)
			_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
		})
		w.enqueue(task("a"))
		time.Sleep(30 * time.Minute)
		require.Equal(t, "real", w.session("a").Task.Session)
		require.True(t, w.session("a").IsPlaceholder())
		require.Contains(t, sentence.Of(w.session("real")), "the command that started it still runs")
		require.Len(t, w.started(), 1)
		time.Sleep(time.Hour)
		require.Greater(t, len(w.started()), 1)
		w.stop()
	})
}

func TestTasksGoInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger = 1, 0
		w := newWorld(t, rules, begins(nil))
		require.NoError(t, w.SetPaused(t.Context(), true))
		for _, id := range []string{"a", "b", "c", "d"} {
			w.enqueue(task(id))
		}
		key := func(id string) resume.Key { return resume.Key{Agent: "bot", ID: id} }
		order := func() (ids string) {
			all, err := w.Tasks(t.Context())
			require.NoError(t, err)
			for _, s := range all {
				ids += s.Key.ID
			}
			return ids
		}
		require.NoError(t, w.MoveTask(t.Context(), key("d"), key("a")))
		require.Equal(t, "dabc", order())
		require.NoError(t, w.MoveTask(t.Context(), key("d"), key("b")))
		require.Equal(t, "abdc", order())
		require.NoError(t, w.DropTask(t.Context(), key("b")))
		after, err := w.ReplaceTask(t.Context(), key("d"), task("e"))
		require.NoError(t, err)
		require.Equal(t, 4, after.Task.N, "it has the number of the one it replaces")
		require.Equal(t, "aec", order())
		require.NoError(t, w.SetPaused(t.Context(), false))
		time.Sleep(time.Hour)
		synctest.Wait()
		var began []string
		for _, c := range w.changes {
			if c.ClaimedRun() != nil {
				began = append(began, c.After.Key.ID)
			}
		}
		require.Equal(t, []string{"a", "e", "c"}, began)
		require.ErrorIs(t, w.DropTask(t.Context(), key("x")), resume.ErrNoSession)
		w.stop()
	})
}

func TestATaskIsBegunAfterWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		w := newWorld(t, rules, begins(resume.Progressed{At: time.Now().Add(4 * time.Hour)}))
		w.seeShared("x", resume.Progressed{At: time.Now()})
		w.enqueue(task("a", func(s *resume.Session) { s.Task.Behind = resume.Key{Agent: "bot", ID: "x"} }))
		w.enqueue(task("b", func(s *resume.Session) { s.Task.NotBefore = time.Now().Add(5 * time.Hour) }))
		w.enqueue(task("c", func(s *resume.Session) { s.Task.Behind = resume.Key{Agent: "bot", ID: "b"} }))
		for range 60 { // it still works
			time.Sleep(time.Minute)
			w.seeShared("x", resume.Progressed{At: time.Now()})
		}
		require.Empty(t, w.started())
		time.Sleep(rules.Settle + time.Minute)
		require.Equal(t, resume.TaskStarted, w.session("a").TaskState())
		time.Sleep(4 * time.Hour)
		require.Equal(t, resume.TaskStarted, w.session("b").TaskState())
		time.Sleep(time.Hour)
		require.Equal(t, resume.TaskStarted, w.session("c").TaskState())
		w.stop()
	})
}

func TestATaskIsKeptOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(resume.TaskNumbers).Give(task("a")).Next(resume.Enqueued{}, defaultRules(), time.Now(), 0)
		begun := s.Next(resume.Due{Mark: "m"}, defaultRules(), time.Now(), 0)
		require.Equal(t, resume.Resuming, begun.State)
		w := newWorldOf(t, Options{Rules: defaultRules(), Sessions: []resume.Session{begun}}, begins(resume.Progressed{At: time.Now()}))
		_, err := w.Apply(t.Context(), s.Key, resume.Lost{Mark: "m"})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Len(t, w.started(), 1, fmt.Sprint(sentence.Of(w.session("a"))))
		require.Equal(t, resume.TaskStarted, w.session("a").TaskState())
		w.stop()
	})
}

func TestATaskThatIsCancelledKeepsNobodyOfItsAccountWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent = 5
		w := newWorld(t, rules, begins(nil)) // its command shows no session
		reset := time.Now().Add(30 * time.Second)
		w.seeShared("x", limitedUntil(time.Now(), limit.UsageLimit, reset))
		key := w.enqueue(task("a")).Key
		_, err := w.Apply(t.Context(), key, resume.Retry{})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.Equal(t, resume.Settling, w.session("a").State)
		require.Equal(t, resume.HalfOpen, w.account().State, "it tries alone")
		_, err = w.Apply(t.Context(), key, resume.Forget{})
		require.NoError(t, err)
		_, err = w.Session(t.Context(), key)
		require.ErrorIs(t, err, resume.ErrNoSession)
		time.Sleep(time.Hour)
		require.Greater(t, len(w.started()), 1, "the next one tries: %s", sentence.Of(w.session("x")))
		w.stop()
	})
}
