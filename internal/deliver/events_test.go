package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// What is stored about a command is enough to find it again, and to say what it does not have.
func TestACommandIsStored(t *testing.T) {
	w := newWorld(t)
	w.run("echo printed")
	w.agent.plan.Run.Carried.LeftOut = []leash.Omission{{What: "--ide", Why: "it needs a terminal"}}
	w.agent.plan.Run.Models = resume.Models{Own: "opus", Fallback: "sonnet"}
	require.Equal(t, "delivered", last(w.act()))
	require.Equal(t, resume.Sending{
		Mark: w.mark, LeftOut: []string{"--ide: it needs a terminal"}, Models: w.agent.plan.Run.Models,
	}, lastEvent[resume.Sending](w))
	started := lastEvent[resume.Started](w)
	require.Equal(t, w.mark, started.Mark)
	require.NotZero(t, started.Process.PID)
	require.Equal(t, w.session.Attempts[0].StartedAt, w.agent.ran.Since)
	require.Equal(t, "printed\n", w.agent.ran.Output)
}

// A command starts from the environment and the limits of its session, and its transcript shows that it lives.
func TestACommandStartsAsItsSession(t *testing.T) {
	t.Setenv("OF_THE_DAEMON", "1")
	w := newWorld(t)
	limits := resume.ProcessLimits{Nice: 7}
	w.startedWith(resume.Origin{Environ: []string{"PATH=" + os.Getenv("PATH"), "MINE=1"}, Limits: limits})
	var got runner.Command
	w.d.machine = starting{noting{w: w}, &got}
	require.Equal(t, "failed: noted", last(w.act()), "an error that nobody knows costs an attempt")
	require.Contains(t, got.Environ(), "MINE=1")
	require.NotContains(t, got.Environ(), "OF_THE_DAEMON=1")
	require.Equal(t, limits, got.Limits)
	require.Contains(t, got.Signs(), w.session.Transcript)
}

// What follows from a resume that was not sent: who is asked, until when it waits, and who has the session open.
func TestWhatFollowsFromAResumeThatWasNotSent(t *testing.T) {
	t.Parallel()
	owner := &resume.Owner{PID: 42, Kind: resume.Interactive}
	later := time.Now().Add(time.Hour).Round(0)
	unseen := fmt.Errorf("read /proc: %w", agent.ErrUnseen)
	for name, c := range map[string]struct {
		given func(*world)
		then  resume.NextStep
		until time.Time
		owner *resume.Owner
	}{
		"the week is kept for people": {
			func(w *world) {
				w.settings.Rules.WeeklyReserve, w.session.Usage = 20, resume.Usage{WeekUsed: 90, WeekResetsAt: later}
			}, resume.KeepForPeople, time.Time{}, nil,
		},
		"processes cannot be seen": {func(w *world) { w.agent.ownerErr = unseen }, resume.Tell, time.Time{}, nil},
		"its user has left it": {
			func(w *world) {
				left := &asker{fakeAgent: w.agent, left: true}
				w.settings.Agent = func(string) agent.Agent { return left }
			}, resume.UserLeft, time.Time{}, nil,
		},
		"its user has closed it": {
			func(w *world) {
				w.settings.Rules.Closed, w.session.Owner = resume.LeaveClosed, owner
				w.d.tracker.saw(w.session.Key)
			}, resume.UserClosed, time.Time{}, nil,
		},
		"it goes on by itself": {
			func(w *world) {
				w.agent.owner, w.agent.talk.Skip = owner, &agent.Skip{Why: "it goes on", Until: later}
			}, resume.TryAgain, later, owner,
		},
		"there is no plan": {func(w *world) { w.agent.owner, w.agent.planErr = owner, unseen }, resume.Tell, time.Time{}, owner},
		"nobody knows which one has it": {
			func(w *world) { w.agent.owner, w.agent.talk.Skip = owner, &agent.Skip{Why: "two have it", Park: true} }, resume.Park, time.Time{}, owner,
		},
		"it is a dry run": {
			func(w *world) {
				w.d.opts.DryRun, w.agent.owner = true, owner
				w.agent.talk.Run = &agent.Command{Argv: []string{"true"}, Dir: w.session.Cwd, Unverifiable: true}
			}, resume.Park, time.Time{}, owner,
		},
		"the disk is full at the claim": {
			func(w *world) {
				w.agent.owner, w.d.opts.Sync = owner, failsSecond()
				w.agent.talk.Run = &agent.Command{Argv: []string{"true"}, Dir: w.session.Cwd, Unverifiable: true}
			}, resume.TryAgain, time.Time{}, owner,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.given(w)
			w.act()
			got := lastEvent[resume.NotSent](w)
			require.Equal(t, c.then, got.Then)
			require.Equal(t, c.until, got.Until)
			require.Equal(t, c.owner, got.Owner)
			require.Equal(t, w.mark, got.Mark)
		})
	}
}

// failsSecond is a disk that is full after the first write.
func failsSecond() func(context.Context, ...resume.Key) error {
	n := 0
	return func(context.Context, ...resume.Key) error {
		if n++; n > 1 {
			return errors.New("no space left on device")
		}
		return nil
	}
}

// What is found out about the resume of an earlier daemon is stored for that resume.
func TestWhatAnEarlierDaemonLeftIsStored(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "lost", last(w.recovered()))
	require.Equal(t, resume.Lost{Mark: w.mark}, lastEvent[resume.Lost](w))

	w = newWorld(t)
	got := new(runner.Command)
	w.d.machine = bound{sees: true, to: got}
	require.Equal(t, "delivered", last(w.recovered()))
	require.Equal(t, resume.Started{Mark: w.mark, Process: resume.Process{PID: 43, Start: 7}}, lastEvent[resume.Started](w))
	require.Equal(t, w.d.files.Output(w.session.Key, 1), got.Output)
}

// The prompt says why the session was stopped, and until when.
func TestAPromptSaysWhyASessionWasStopped(t *testing.T) {
	w := newWorld(t)
	w.settings.Prompts.Usual = "{reason} {reset_time}"
	w.session.Limit.Class, w.session.Limit.Reset.At = limit.UsageLimit, time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	text := words(t.Context(), w.agent, w.now(), w.settings)
	require.NotContains(t, text, "{")
	without := w.now()
	without.Limit.Class, without.Limit.Reset.At = limit.Overloaded, time.Time{}
	other := words(t.Context(), w.agent, without, w.settings)
	without.Limit.Class = limit.UsageLimit
	require.NotEqual(t, other, words(t.Context(), w.agent, without, w.settings), "the reason")
	require.NotEqual(t, text, words(t.Context(), w.agent, without, w.settings), "the time")
}

// A session that its user left is not continued when its process ends.
func TestThatItsUserLeftIsStored(t *testing.T) {
	w := stopped(t)
	w.session.Owner = w.agent.owner
	w.d.Changed(resume.Change{After: w.now()})
	w.agent.owner = nil
	left := &asker{fakeAgent: w.agent, left: true}
	w.settings.Agent = func(string) agent.Agent { return left }
	w.d.lookAtHolders(t.Context())
	require.Equal(t, resume.Released{Left: true}, lastEvent[resume.Released](w))
}
