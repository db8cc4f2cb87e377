package deliver

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
	"resumed/internal/resume"
)

// A burst of limits takes one look at all processes, a resume always one of its own:
// that nobody holds the session must be true after it was decided to send it.
func TestABurstOfLimitsIsLookedAtTogetherAndAResumeByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const sessions = 2000
		for i := range sessions {
			w.d.tracker.lookUp(resume.Key{Agent: "fake", ID: fmt.Sprint(i)}, true)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		require.Len(t, w.agent.asked, sessions)
		require.Equal(t, (sessions+batchSize-1)/batchSize, w.questions, "the engine is not asked for one after the other")
		for _, asked := range w.agent.asked {
			require.True(t, asked == w.agent.asked[0] && process.WithSnapshot(asked) == asked)
		}

		w.agent.asked = nil
		require.NotEmpty(t, w.act())
		require.NotEmpty(t, w.agent.asked)
		for _, asked := range w.agent.asked {
			require.NotEqual(t, asked, process.WithSnapshot(asked))
		}
	})
}

// A process that is there but does not say yet which session it holds is looked for again. Where a session
// has stopped and there is none at all, nobody is waited for; that of one that moves may only
// just begin. Who moves on all the same is not looked for all the time.
func TestAProcessIsLookedForAgainWhereThereMayBeOne(t *testing.T) {
	for _, c := range []struct {
		state  resume.State
		nobody bool
		want   int
	}{
		{resume.Waiting, false, mostLooks},
		{resume.Waiting, true, 1},
		{resume.Watching, true, mostLooks},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := stopped(t)
			w.session.State, w.session.LimitedAt = c.state, time.Now().Add(time.Hour) // it is not too old to be looked for
			w.agent.owner, w.agent.nobody = nil, c.nobody
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
			w.d.tracker.lookUp(w.session.Key, false)
			time.Sleep(2 * mostLooks * nextLook)
			synctest.Wait()
			require.Len(t, w.agent.asked, c.want)
			require.True(t, w.d.tracker.missedRecently(w.session.Key, time.Now()))
			cancel()
			<-done
		})
	}
}

// Of two processes nobody knows which one holds the session, but one may be gone at the next look.
func TestAGuessIsLookedAtAgain(t *testing.T) {
	w := stopped(t)
	w.session.State = resume.Watching
	w.agent.owner.Guessed = true
	require.False(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{missed: 1}))
	w.agent.owner.Guessed = false
	require.True(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{missed: 1}))
}

// A session of which its refusal told how large its context is, is not weighed again.
func TestASessionThatWasWeighedIsNotWeighedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		w.agent.owner = nil
		size := resume.Context{Tokens: 7, At: time.Now().Round(0)}
		for n, c := range []struct {
			told, noted resume.Context
			want        int
		}{{size, size, 0}, {resume.Context{}, resume.Context{}, 1}, {size, resume.Context{}, 2}, {resume.Context{}, size, 3}} {
			w.session.Context = c.noted
			w.d.Changed(resume.Change{At: time.Now(), Event: resume.Limited{At: time.Now(), Context: c.told}, After: w.now()})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
			synctest.Wait()
			cancel()
			<-done
			require.Equal(t, c.want, w.agent.weighed, n)
		}
	})
}

// A hundred sessions that are stopped within a second or two are looked for as often as
// one would be, their files are read once, and they share the looks at all processes.
func TestSessionsThatAreStoppedOneAfterTheOtherShareTheirLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		w.session.LimitedAt = time.Now().Add(time.Hour) // none of them is too old to be looked for
		w.agent.owner = nil
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.d.WatchPrograms(ctx) }()
		const sessions, apart = 100, 20 * time.Millisecond
		for i := range sessions {
			w.d.tracker.lookUp(resume.Key{Agent: "fake", ID: fmt.Sprint(i)}, true)
			time.Sleep(apart)
		}
		time.Sleep(mostLooks * nextLook)
		synctest.Wait()
		cancel()
		<-done
		require.Equal(t, sessions, w.agent.weighed)
		require.Len(t, w.agent.asked, sessions*mostLooks)
		looks := make(map[context.Context]bool)
		for _, asked := range w.agent.asked {
			looks[asked] = true
		}
		require.LessOrEqual(t, len(looks), int(sessions*apart/batchDelay+2*mostLooks*nextLook/nextLook))
	})
}
