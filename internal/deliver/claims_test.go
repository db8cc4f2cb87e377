package deliver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// A prompt is handed over only if the engine has stored that it may have been.
func TestAPromptIsHandedOverOnlyAfterItsClaim(t *testing.T) {
	for name, withdraw := range map[string]func(*world){
		"the daemon stops":           func(w *world) { w.refused = errors.New("it stops") },
		"a person has cancelled it":  func(w *world) { w.session.Run = nil },
		"another resume has begun":   func(w *world) { w.session.Run = &resume.Run{Mark: "other"} },
		"it does not resume anymore": func(w *world) { w.session.State = resume.Waiting },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
			w.agent.talk.Run = &agent.Command{Argv: []string{"touch", "touched"}, Dir: w.session.Cwd, Unverifiable: true}
			v := &delivery{Deliverer: w.d, session: w.now()}
			require.Nil(t, v.pass(t.Context(), gatesOfSession))
			withdraw(w)
			require.Equal(t, withdrawn, v.way.send(t.Context()))
			require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
		})
	}
	w := newWorld(t)
	w.session.Seen.Offset = 7
	v := &delivery{Deliverer: w.d, session: w.now(), lease: new(heldLease)}
	require.Nil(t, v.claim(t.Context(), resume.Process{}))
	require.EqualValues(t, 7, v.session.Run.Behind.Offset, "only what comes after the claim can be the prompt")
}

// What a queued prompt has brought is read before the engine waits for the session to move.
func TestTheTranscriptIsReadAfterAQueuedPrompt(t *testing.T) {
	w := newWorld(t)
	read := false
	w.look = func(context.Context) error {
		text, err := os.ReadFile(w.session.Transcript)
		read = strings.Contains(string(text), "prompt")
		return err
	}
	w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
	w.agent.talk.Run = &agent.Command{Argv: []string{"sh", "-c", "echo prompt >> " + w.session.Transcript}, Dir: w.session.Cwd, Unverifiable: true}
	require.Equal(t, "delivered", last(w.act()))
	require.True(t, read)
}

// starting is a machine that keeps what it was to start.
type starting struct {
	noting
	command *runner.Command
}

func (s starting) Start(cmd runner.Command) (Process, error) {
	*s.command = cmd
	return nil, errNoted
}

// A command that hands a prompt over has a minute, whatever resumes have, and leaves no status.
func TestACommandThatHandsAPromptOverIsBounded(t *testing.T) {
	for _, handsOver := range []bool{true, false} {
		w := newWorld(t)
		w.settings.Timeout, w.settings.Stall = time.Hour, time.Minute
		run := &agent.Command{Argv: []string{"true"}, Dir: w.session.Cwd, Unverifiable: handsOver}
		w.agent.plan.Run = run
		if handsOver {
			w.agent.owner, w.agent.talk.Run = &resume.Owner{PID: 42, Kind: resume.Interactive}, run
		}
		var got runner.Command
		w.d.machine = starting{noting{w: w}, &got}
		w.act()
		timeout, stall := got.Bounds()
		if handsOver {
			require.Equal(t, []time.Duration{handOverTimeout, 0}, []time.Duration{timeout, stall})
			require.Empty(t, got.Status)
		} else {
			require.Equal(t, []time.Duration{time.Hour, time.Minute}, []time.Duration{timeout, stall})
			require.NotEmpty(t, got.Status)
		}
	}
}

// A daemon that stops does not know how a command ends: the next one finds it.
func TestADaemonThatStopsLeavesItsCommandToTheNext(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	w.run("sleep 600")
	w.diary.told = func(line string) {
		if line == "started" {
			stop()
		}
	}
	w.d.Act(ctx, w.now())
	require.Equal(t, []string{"on disk", "sending", "started", "on disk"}, w.diary.all())
	process, alive := w.d.machine.Find(w.mark)
	require.True(t, alive)
	require.NoError(t, process.Stop(t.Context()))
}

// The sessions of an earlier daemon are looked up, and those that are open are watched.
func TestStoppedSessionsOfAnEarlierDaemonAreLookedUp(t *testing.T) {
	w := stopped(t)
	open := w.now()
	open.Owner = w.agent.owner
	works := resume.Session{Key: resume.Key{Agent: "fake", ID: "s-2"}, State: resume.Watching}
	d := New(w.d.opts, []resume.Session{open, works})
	require.Equal(t, []resume.Key{open.Key}, d.tracker.allOpen())
	require.Equal(t, map[resume.Key]bool{open.Key: true}, d.tracker.takeLookups())
	require.NoError(t, d.Recover(t.Context(), []resume.Session{open}))
	require.Empty(t, w.diary.all(), "nothing of it was begun")
}

// The hosts of a fleet are asked once for all resumes that use a lease.
func TestHostsAreAskedOnceForALease(t *testing.T) {
	asked := 0
	w := newWorld(t, func(o *Options) {
		o.HostLease = func(context.Context, resume.Session) (HostLease, *resume.NotSent) {
			asked++
			return new(otherHosts), nil
		}
	})
	v := &delivery{Deliverer: w.d, session: w.session}
	require.Nil(t, v.pass(t.Context(), []gate{(*delivery).takeLease, (*delivery).askHosts, (*delivery).askHosts}))
	require.Equal(t, 1, asked)
	v.releaseLease(t.Context())
}

// What is learned about a session when it is due is stored; a preview stores nothing.
func TestWhatADueSessionShowsIsStored(t *testing.T) {
	t.Parallel()
	t.Run("its process", func(t *testing.T) {
		w := newWorld(t)
		w.agent.owner, w.agent.program = &resume.Owner{PID: 42, Kind: resume.Interactive}, resume.Program{Path: "/bin/bot"}
		require.Contains(t, w.act(), "identified as /bin/bot")
		require.True(t, w.d.tracker.wasSeen(w.session.Key))
	})
	t.Run("the process that writes its transcript", func(t *testing.T) {
		w := newWorld(t)
		w.agent.program = resume.Program{Path: "/bin/bot"}
		w.settings.Agent = func(string) agent.Agent { return writing{w.agent} }
		require.Contains(t, w.act(), "identified as /bin/bot")
	})
	t.Run("the size of its context", func(t *testing.T) {
		w := newWorld(t)
		w.d.Preview(t.Context(), w.now())
		require.Zero(t, w.agent.weighed)
		w.act()
		require.Equal(t, 1, w.agent.weighed)
	})
	t.Run("a link on the way to its transcript", func(t *testing.T) {
		w := newWorld(t)
		link := filepath.Join(t.TempDir(), "link")
		require.NoError(t, os.Symlink(w.agent.root, link))
		w.session.Transcript = filepath.Join(link, "s-1.log")
		require.Equal(t, "delivered", last(w.act()))
	})
}

// A start that a hook recorded counts like one that was seen, and never replaces one.
func TestAStartThatAHookRecordedCounts(t *testing.T) {
	seen := func(at time.Time) *resume.Origin {
		return &resume.Origin{SeenAt: at, ArgsSeen: true, EnvSeen: true, Args: []string{at.String()}}
	}
	hook, own := time.Now().Add(-time.Minute).Round(0), time.Now().Round(0)
	for name, c := range map[string]struct {
		recorded *resume.Origin
		known    *resume.Origin
		want     []string
	}{
		"nothing is known":          {nil, nil, nil},
		"a hook recorded it":        {seen(hook), nil, []string{hook.String()}},
		"a hook saw only a part":    {&resume.Origin{SeenAt: hook, Args: []string{"part"}}, nil, nil},
		"it was seen by itself":     {nil, seen(own), []string{own.String()}},
		"both: what was seen stays": {seen(hook), seen(own), []string{own.String()}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.session.Origin = c.known
			if c.recorded != nil {
				require.NoError(t, w.d.opts.Starts.Put(w.session.Key, c.recorded))
			}
			var args []string
			after := w.d.recorded(t.Context(), w.now())
			if after.Origin != nil {
				args = after.Origin.Args
			}
			require.Equal(t, c.want, args)
		})
	}
}

// A preview says which model it may use, and to whom a message goes.
func TestAPreviewSaysWhatAResumeWouldUse(t *testing.T) {
	w := newWorld(t)
	w.agent.plan.Run.Models = resume.Models{Own: "opus", Fallback: "sonnet"}
	plan := w.d.Preview(t.Context(), w.now())
	require.Equal(t, "with sonnet if opus is still overloaded (fallback_model)", plan.Models)

	w = newWorld(t)
	w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
	w.agent.talk.Type = &agent.Typing{Process: resume.Process{PID: 42}, Text: "continue"}
	plan = w.d.Preview(t.Context(), w.now())
	require.Equal(t, `"continue" is typed into the terminal of process 42`, plan.Does)
	for _, list := range [][]string{plan.Command, plan.Repeated, plan.LeftOut, plan.Env, plan.EnvUnset} {
		require.Equal(t, []string{}, list, "in JSON it is a list, and not null")
	}
}

func TestThatProcessesCannotBeSeenIsToldAPerson(t *testing.T) {
	require.Equal(t, resume.Tell, tellIfUnseen(fmt.Errorf("read /proc: %w", agent.ErrUnseen)))
	require.Equal(t, resume.TryAgain, tellIfUnseen(errors.New("busy")))
}

// What a hook reported is taken once.
func TestAQuestionIsTakenOnce(t *testing.T) {
	tr, key := newTracker(), resume.Key{Agent: "fake", ID: "s-1"}
	tr.told(key, question{"may I?", time.Now()})
	due, _ := tr.takeQuestions(time.Now())
	require.Len(t, due, 1)
	due, next := tr.takeQuestions(time.Now())
	require.Empty(t, due)
	require.Zero(t, next)
}

// noRoom is a machine on which a command cannot write to its status file.
type noRoom struct{ here }

func (m noRoom) Start(cmd runner.Command) (Process, error) {
	cmd.Limits.Resources = slices.Repeat([]resume.Resource{{Soft: math.MaxUint64, Hard: math.MaxUint64}}, 8)
	cmd.Limits.Resources[7] = resume.Resource{} // it can open no file
	return m.here.Start(cmd)
}

// Nothing was begun, so it costs no try, and the next one may find room.
func TestACommandThatCouldNotNoteItsStartIsTriedLater(t *testing.T) {
	w := newWorld(t)
	w.d.machine = noRoom{}
	require.Contains(t, last(w.act()), "not sent: its command was not begun, because its status file could not be written")
	require.Equal(t, resume.Waiting, w.now().State)
	require.Empty(t, w.now().Attempts)
}
