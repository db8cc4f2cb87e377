package deliver

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// The lookups of a burst of limits share one read of all processes. A resume does its own: that no
// process has the session open must be true after the decision to send.
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

// A process that has not recorded yet which session it has open is looked up again. If the session is
// stopped and the agent has no process at all, the search is over; if the session moves, its process
// may be just starting. A session that moves although its process is not found is not looked up all the
// time.
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
			w.session.State, w.session.LimitedAt = c.state, time.Now().Add(time.Hour) // not too old to be looked up
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

// It is not known which of two processes has the session open, but one may be gone at the next lookup.
func TestAGuessIsLookedAtAgain(t *testing.T) {
	w := stopped(t)
	w.session.State = resume.Watching
	w.agent.owner.Guessed = true
	require.False(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{missed: 1}))
	w.agent.owner.Guessed = false
	require.True(t, w.d.lookAt(t.Context(), w.agent, new(w.now()), search{missed: 1}))
}

// If the limit's event contains the size of the context, it is not read again.
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

// A hundred sessions that are stopped within a second or two cause as many lookups as one: their files
// are read once, and they share the reads of all processes.
func TestSessionsThatAreStoppedOneAfterTheOtherShareTheirLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		w.session.LimitedAt = time.Now().Add(time.Hour) // not too old to be looked up
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

// What is left to see of a process that ends does not replace what was seen of the session's start.
func TestWhatWasSeenOfAStartStays(t *testing.T) {
	w := newWorld(t)
	w.startedWith(resume.Origin{Args: []string{"--deny", "all"}})
	w.session.LimitedAt = time.Now()
	w.agent.Base = agent.NewBase(agent.About{Name: "fake"}, agent.Options{})
	w.d.identify(t.Context(), w.agent, w.now(), &resume.Owner{PID: os.Getpid()}) // its arguments are not an agent's
	require.Equal(t, []string{"--deny", "all"}, w.now().StartedWith().Args)
	require.True(t, w.now().StartedWith().Seen())
}

// The process of a session is looked up when it probably lives: it was just given a prompt, it moves and its start is
// not known, or a limit stops it.
func TestWhenTheProcessOfASessionIsLookedUp(t *testing.T) {
	now := time.Now()
	seen := resume.Session{Origin: &resume.Origin{SeenAt: now}}
	for _, c := range []struct {
		name  string
		event resume.Event
		after resume.Session
		want  bool
	}{
		{"a limit stops it", resume.Limited{At: now}, resume.Session{State: resume.Waiting}, true},
		{"a limit does not stop it", resume.Limited{At: now}, resume.Session{State: resume.Watching}, false},
		{"a subagent has ended", resume.SubagentEnded{}, seen, true},
		{"it was just given a prompt", resume.Prompted{At: now}, seen, true},
		{"it was given a prompt almost a minute ago", resume.Prompted{At: now.Add(1 - justNow)}, seen, true},
		{"it was given a prompt a minute ago", resume.Prompted{At: now.Add(-justNow)}, seen, false},
		{"it moves", resume.Progressed{At: now}, resume.Session{}, true},
		{"it moves, and its start is known", resume.Progressed{At: now}, seen, false},
		{"it moved a minute ago", resume.Progressed{At: now.Add(-justNow)}, resume.Session{}, false},
		{"a person forgets it", resume.Forget{}, resume.Session{}, false},
	} {
		require.Equal(t, c.want, isOccasion(resume.Change{At: now, Event: c.event, After: c.after}), c.name)
	}
}

// immortal is a fakeAgent whose processes live.
type immortal struct{ *fakeAgent }

func (immortal) Lives(resume.Process) bool { return true }

// A process that still runs had the last prompt too: that is stored once, without a search for the process.
func TestAProcessThatStillRunsIsNotSearchedFor(t *testing.T) {
	w := stopped(t)
	w.session.State = resume.Watching
	w.startedWith(resume.Origin{Args: []string{"--deny", "all"}})
	prompted := time.Now()
	w.session.PromptedAt, w.session.Origin.SeenAt = prompted, prompted.Add(-time.Hour)
	require.Nil(t, w.session.StartedWith())
	require.True(t, w.d.lookAtProcess(t.Context(), immortal{w.agent}, w.now()))
	require.Equal(t, []string{"--deny", "all"}, w.now().StartedWith().Args)
	require.True(t, w.d.lookAtProcess(t.Context(), immortal{w.agent}, w.now()))
	require.Equal(t, []string{"identified as "}, w.diary.all(), "what is known is not stored again")
	require.Empty(t, w.agent.asked)

	w.session.State = resume.Waiting
	w.d.lookAtProcess(t.Context(), immortal{w.agent}, w.now())
	require.NotEmpty(t, w.agent.asked, "which process has a stopped session open is always looked for")
}

// The next daemon knows what the process of a session was started with.
func TestWhatAProcessWasStartedWithIsStored(t *testing.T) {
	w := newWorld(t)
	w.session.LimitedAt = time.Now()
	w.agent.Base = agent.NewBase(agent.About{Name: "fake"}, agent.Options{})
	w.d.identify(t.Context(), w.agent, w.now(), &resume.Owner{PID: os.Getpid()})
	start, ok := w.d.opts.Starts.Get(w.session.Key)
	require.True(t, ok)
	require.Equal(t, os.Getpid(), start.Origin.Process.PID)
	require.Equal(t, start.Origin.Process, w.now().Origin.Process)
}
