package deliver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/terminal"
)

// refusing is a field that fails at one step.
type refusing struct {
	field
	step string
	err  error
	stop context.CancelFunc // called when something is typed; nil: not
}

func (r *refusing) at(ctx context.Context, step string) error {
	if step == r.step {
		return r.err
	}
	return ctx.Err()
}

func (r *refusing) Pane(ctx context.Context, _ resume.Process) (Pane, error) {
	return r, r.at(ctx, "pane")
}

func (r *refusing) Quiet(ctx context.Context) error { return r.at(ctx, "quiet") }

func (r *refusing) Screen(ctx context.Context) (string, error) {
	if err := r.at(ctx, "screen"); err != nil {
		return "", err
	}
	return r.field.Screen(ctx)
}

func (r *refusing) Type(ctx context.Context, text string) error {
	if r.stop != nil {
		r.stop()
	}
	if err := r.at(ctx, "type"); err != nil {
		return err
	}
	return r.field.Type(ctx, text)
}

func (r *refusing) Press(ctx context.Context, key terminal.Key) error {
	if err := r.at(ctx, "press"); err != nil {
		return err
	}
	return r.field.Press(ctx, key)
}

// inRefusing returns a world whose session is open in such a terminal.
func inRefusing(t *testing.T, r *refusing) *world {
	w := inField(t, &r.field)
	w.d.machine, r.transcript = r, w.session.Transcript
	return w
}

// Whatever step fails, nothing is sent that the person at the terminal did not see, and the reason says
// what helps.
func TestWhatBecomesOfATerminalThatRefuses(t *testing.T) {
	const (
		inUse    = "not sent: somebody was at its keyboard just now"
		notSent  = "parked: open in its terminal (process 42): "
		notEnter = "; Enter was not pressed"
	)
	gone, broken := &terminal.Refusal{Why: "nobody listens there"}, errors.New("broken pipe")
	unreached := "not sent: open in its terminal: continue there, or quit it and resumed continues it; resumed cannot type there (process 42): nobody listens there"
	for name, c := range map[string]struct {
		step string
		err  error
		want string
	}{
		"it is in no terminal":                      {"pane", gone, unreached},
		"its terminal is not found now":             {"pane", broken, "not sent: broken pipe"},
		"a person typed a moment ago":               {"quiet", terminal.ErrInUse, inUse},
		"its screen cannot be read":                 {"screen", broken, "not sent: broken pipe"},
		"a person types before the prompt":          {"type", terminal.ErrInUse, inUse},
		"it is not known what was typed":            {"type", broken, notSent + "broken pipe" + notEnter},
		"a person types before Enter":               {"press", terminal.ErrInUse, notSent + "somebody was at its keyboard just now" + notEnter},
		"it is not known whether Enter was pressed": {"press", broken, "unknown: the prompt was typed and sent, and did not appear in the transcript within 10s; look at the session before you retry"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &refusing{step: c.step, err: c.err}
				w := inRefusing(t, r)
				require.Equal(t, c.want, last(w.act()))
				require.Empty(t, r.sent)
				require.Equal(t, "limit\n", w.transcript())
			})
		})
	}
}

// A prompt is never left half typed because the daemon stops.
func TestADaemonThatStopsSendsWhatItTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(refusing)
		w := inRefusing(t, r)
		ctx, stop := context.WithCancel(t.Context())
		r.stop = stop
		w.d.Act(ctx, w.now())
		require.Equal(t, []string{"continue"}, r.sent)
	})
}

// Between the two looks before a prompt is typed a person has time to begin.
func TestThereIsTimeBetweenTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &changing{shows: func(int) (string, bool) { return "", false }}
		w := inField(t, &f.field)
		w.d.machine, f.transcript = f, w.session.Transcript
		require.Equal(t, "delivered", last(w.act()))
		require.Equal(t, lookPause, f.reads[1].Sub(f.reads[0]))
	})
}

// Whether something can be typed is known long before the session is due.
func TestATerminalThatRefusesIsToldWhenTheSessionIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		why string
	}{
		"it can be typed into": {nil, ""},
		"it cannot":            {&terminal.Refusal{Why: "nobody listens there"}, "nobody listens there"},
		"it cannot just now":   {terminal.ErrInUse, ""},
		"it is not found now":  {errors.New("broken pipe"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := stopped(t)
			w.d.machine = &refusing{step: "pane", err: c.err}
			w.agent.talk.Type = &agent.Typing{Text: "continue"}
			require.True(t, w.d.reach(t.Context(), w.agent, w.now(), *w.agent.owner))
			require.Contains(t, w.now().Unreached, c.why)
			require.Equal(t, c.why == "", w.now().Unreached == "")
			require.Equal(t, c.why != "", w.now().Reported)
			require.True(t, w.d.tracker.wasSeen(w.session.Key))
		})
	}
}

// The owner of a stopped session is looked at again: what was not seen alive is not taken for closed by
// its user, and the settings may change.
func TestAHolderIsLookedAtAgain(t *testing.T) {
	w := stopped(t)
	w.session.Owner = w.agent.owner
	w.agent.talk.Type = new(agent.Typing)
	w.d.Changed(resume.Change{After: w.now()})
	require.False(t, w.d.tracker.wasSeen(w.session.Key))
	w.d.lookAtHolders(t.Context())
	require.True(t, w.d.tracker.wasSeen(w.session.Key))
	require.Empty(t, w.now().Unreached)
	w.settings.Live = Notify
	w.d.lookAtHolders(t.Context())
	require.Contains(t, w.now().Unreached, `resume.live is "notify"`)
}

// bound is a machine with one command of an earlier daemon, and what that was bound to.
type bound struct {
	here
	sees     bool
	to       *runner.Command
	answers  int // the pid of the process that answers
	statuses runner.StatusFile
}

func (b bound) Sees() bool                            { return b.sees }
func (b bound) Began() time.Time                      { return time.Now() }
func (b bound) Bind(cmd runner.Command)               { *b.to = cmd }
func (b bound) Find(string) (Process, bool)           { return b, b.sees }
func (b bound) Adopt(resume.Process) (Process, bool)  { return b, true }
func (b bound) Left(string) runner.StatusFile         { return b.statuses }
func (b bound) Stop(context.Context) error            { return nil }
func (b bound) Identity() resume.Process              { return resume.Process{PID: 43, Start: 7} }
func (b bound) Wait(context.Context) runner.Result    { return runner.Result{} }
func (b bound) Start(runner.Command) (Process, error) { panic("nothing is started") }

func (b bound) Answering(pid int, _ time.Time) (Process, bool) { return b, pid == b.answers }

// A command that an earlier daemon began has the same bounds as one of this daemon.
func TestAnAdoptedCommandIsBounded(t *testing.T) {
	for handsOver, want := range map[bool]time.Duration{false: time.Hour, true: handOverTimeout} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.settings.Timeout = time.Hour
			w.session.Run.Unverifiable, w.agent.queued = handsOver, handsOver
			got := new(runner.Command)
			w.d.machine = bound{sees: true, to: got}
			require.Equal(t, "delivered", last(w.recovered()))
			require.Equal(t, w.mark, got.Mark)
			timeout, _ := got.Bounds()
			require.Equal(t, want, timeout)
			if !handsOver {
				require.NotEmpty(t, got.Status)
				require.Contains(t, got.Signs(), w.session.Transcript)
			}
		})
	}
}

// Where the processes of an earlier daemon cannot be distinguished from others, one with its pid is
// waited for, unless the command has written that it ended.
func TestWhereProcessesCannotBeSeenAPidIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		stored, written int
		ended, alive    bool
	}{
		"its pid was stored":                {43, 0, false, true},
		"its pid is in its status":          {0, 43, false, true},
		"another process has another pid":   {44, 0, false, false},
		"its status says that it has ended": {43, 43, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.session.Run.Process = resume.Process{PID: c.stored, Start: 7}
			w.d.machine = bound{answers: 43, statuses: runner.StatusFile{PID: c.written, Ended: c.ended}}
			_, alive := w.d.commandOf(w.now())
			require.Equal(t, c.alive, alive)
		})
	}
}
