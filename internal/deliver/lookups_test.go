package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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

// A session is looked for as long as its process may be about to show itself.
func TestHowLongAProcessIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopped(t)
		w.agent.owner = nil
		old := time.Now().Add(-time.Hour)
		for name, set := range map[string]func(*resume.Session, time.Time){
			"since its limit":       func(s *resume.Session, at time.Time) { s.LimitedAt = at },
			"since its prompt":      func(s *resume.Session, at time.Time) { s.PromptedAt = at },
			"since it last moved":   func(s *resume.Session, at time.Time) { s.MovedAt = at },
			"since all these times": func(s *resume.Session, at time.Time) { s.LimitedAt, s.PromptedAt, s.MovedAt = at, at, at },
		} {
			for ago, over := range map[time.Duration]bool{justNow: false, justNow + 1: true} {
				s := w.now()
				s.LimitedAt, s.PromptedAt, s.MovedAt = old, old, old
				set(&s, time.Now().Add(-ago))
				require.Equal(t, over, w.d.lookAtProcess(t.Context(), w.agent, s), "%s, %s", name, ago)
			}
		}
	})
}

// writing is a fakeAgent of which the process is known that writes the transcript.
type writing struct{ *fakeAgent }

func (writing) Writer(context.Context, resume.Session) int { return os.Getpid() }

// If no process has the session open, the one that writes its transcript shows how it was started.
func TestTheWriterOfATranscriptEndsTheSearch(t *testing.T) {
	w := stopped(t)
	w.session.LimitedAt, w.agent.owner, w.agent.nobody = time.Now(), nil, true
	require.False(t, w.d.lookAtProcess(t.Context(), w.agent, w.now()))
	require.True(t, w.d.lookAtProcess(t.Context(), writing{w.agent}, w.now()))
	w.agent.ownerErr = agent.ErrUnseen
	require.False(t, w.d.lookAtProcess(t.Context(), writing{w.agent}, w.now()), "another process may have it open")
}

// reader is a fakeAgent whose processes live, and that tells what they were started with.
type reader struct {
	immortal
	login, sandbox string
	reads          int
}

func (r *reader) Origin(pid int, _ bool) *resume.Origin {
	r.reads++
	return &resume.Origin{
		Process: resume.Process{PID: pid}, Program: resume.Program{Path: fmt.Sprint("/bin/", pid)},
		SeenAt: time.Now(), ArgsSeen: true, EnvSeen: true, Login: r.login, Sandbox: r.sandbox,
	}
}

// What is known about the process of a session is not read again, unless another person may have signed in. Program and
// start are of one process, and of none that may be another session's or that the agent runs in a sandbox.
func TestAProcessIsReadOnce(t *testing.T) {
	w := stopped(t)
	a := &reader{immortal: immortal{w.agent}}
	owner := resume.Owner{PID: 42, Kind: resume.Interactive}
	for _, c := range []struct {
		pid     int
		guessed bool
		login   string
		sandbox string
		reads   int
		events  int
		program string
	}{
		{42, true, "", "", 0, 1, ""}, // only its kind is certain
		{42, false, "", "", 1, 2, "/bin/42"},
		{42, false, "", "", 1, 2, "/bin/42"},
		{43, true, "", "", 1, 2, "/bin/42"},
		{43, false, "hash", "", 2, 3, "/bin/43"},             // another process
		{43, false, "hash", "", 3, 4, "/bin/43"},             // a person may sign in as another user meanwhile
		{44, false, "hash", "no_new_privs", 4, 4, "/bin/43"}, // in a sandbox, beside it
	} {
		owner.PID, owner.Guessed, a.login, a.sandbox = c.pid, c.guessed, c.login, c.sandbox
		w.d.identify(t.Context(), a, w.now(), &owner)
		require.Equal(t, c.reads, a.reads, "%+v", c)
		require.Len(t, w.diary.all(), c.events, "%+v", c)
		require.Equal(t, c.program, w.now().Program().Path)
		if stored, ok := w.d.opts.Starts.Get(w.session.Key); ok {
			require.Equal(t, w.now().Origin.Process, stored.Process, "the next daemon knows the same")
		}
	}
}

// meter is a fakeAgent that tells how large a session is, how much of its allowance is used, and its subagents.
type meter struct {
	*fakeAgent
	size      resume.Context
	usage     resume.Usage
	subagents []resume.Subagent
	counted   int
	err       error
}

func (m *meter) ContextSize(context.Context, resume.Session) (resume.Context, bool, error) {
	return m.size, true, m.err
}

func (m *meter) Usage(context.Context, resume.Session) (resume.Usage, bool, error) {
	return m.usage, true, m.err
}

func (m *meter) Subagents(context.Context, resume.Session) ([]resume.Subagent, error) {
	m.counted++
	return m.subagents, m.err
}

// What a session has used is stored when it changes. What cannot be read is logged, unless the daemon stops.
func TestWhatASessionHasUsedIsStoredOnce(t *testing.T) {
	w := stopped(t)
	m := &meter{fakeAgent: w.agent, size: resume.Context{Tokens: 7, At: time.Now().Round(0)}, usage: resume.Usage{Lifts: time.Now().Round(0)}}
	m.subagents = []resume.Subagent{{ID: "a", Kind: "explorer"}}
	for range 2 {
		w.d.countSubagents(t.Context(), m, w.d.measure(t.Context(), m, w.now(), true))
		require.Equal(t, m.size, w.now().Context)
		require.Equal(t, m.usage, w.now().Usage)
		require.Equal(t, m.subagents, w.now().Subagents)
		require.Len(t, w.diary.all(), 2, "once the sizes, and once the subagents")
	}
	m.size.Tokens++
	w.d.measure(t.Context(), m, w.now(), false)
	require.Len(t, w.diary.all(), 2, "it was not asked for the size")

	m.err = errors.New("torn")
	stopping, stop := context.WithCancel(t.Context())
	stop()
	w.d.measure(stopping, m, w.now(), true)
	require.NotContains(t, w.log.String(), "torn")
	w.d.measure(t.Context(), m, w.now(), true)
	require.Contains(t, w.log.String(), "torn")
	require.Len(t, w.diary.all(), 2)
}

// The files of a session are read at the first look for its process, and not at the next ones.
func TestTheFilesOfASessionAreReadAtTheFirstLook(t *testing.T) {
	w := stopped(t)
	m := &meter{fakeAgent: w.agent}
	for missed, counted := range []int{1, 1, 1} {
		w.d.lookAt(t.Context(), m, new(w.now()), search{missed: missed})
		require.Equal(t, counted, m.counted)
	}
}

// What is remembered of processes that were not found, and of hooks, is bounded.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	h, now := newTracker(), time.Now()
	key := func(n int) resume.Key { return resume.Key{Agent: "fake", ID: fmt.Sprint(n)} }
	for n := range maxMissed {
		h.miss(key(n), now)
		h.told(key(n), question{"permission", now})
	}
	require.True(t, h.missedRecently(key(0), now.Add(justNow-1)))
	require.False(t, h.missedRecently(key(0), now.Add(justNow)), "a minute later it may be found")
	h.miss(key(maxMissed), now)
	h.told(key(maxMissed), question{"permission", now})
	require.True(t, h.missedRecently(key(maxMissed), now))
	require.Len(t, h.missed, 1)
	require.Len(t, h.questions, maxMissed)
	require.Contains(t, h.questions, key(0))
}

// The prompt names the try that it begins, also in a preview.
// caller is a fakeAgent that tells which tool has no result.
type caller struct {
	*fakeAgent
	asked int
}

func (c *caller) OpenTool(context.Context, resume.Session) string { c.asked++; return "Bash" }

// The prompt names what was interrupted. The transcript is read for it only if the prompt wants it.
func TestAPromptNamesWhatWasInterrupted(t *testing.T) {
	w := newWorld(t)
	c := &caller{fakeAgent: w.agent}
	w.session.Subagents = []resume.Subagent{{Kind: "Explore"}}
	for text, want := range map[string]string{"go on: {subagents}": "1 subagent (Explore)", "go on": "go on", "go on: {interrupted_tool}": "Bash"} {
		c.asked, w.settings.Prompts.Usual = 0, text
		require.Contains(t, words(t.Context(), c, w.now(), w.settings), want)
		require.Equal(t, strings.Contains(text, "tool"), c.asked == 1)
	}
}

func TestAPromptNamesTheTryThatItBegins(t *testing.T) {
	w := newWorld(t)
	w.settings.Prompts.Usual = "try {attempt}"
	require.Equal(t, "try 1", words(t.Context(), w.agent, w.now(), w.settings))
	w.session = w.session.Next(resume.Ended{Mark: w.mark, Outcome: resume.Failed}, rules, time.Now(), 0.5)
	require.Equal(t, "try 2", words(t.Context(), w.agent, w.now(), w.settings))
}
