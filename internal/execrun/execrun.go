// Package execrun runs a command under a retry policy: it says from the exit
// code and the last words why a run failed, waits, and tries again. A known
// agent in print mode is continued in the same session.
package execrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/lease"
	"resumed/internal/limit"
)

// The exit codes that are not the command's own.
const (
	CodeFailed      = 1
	CodeGaveUp      = 75  // the retries ran out
	CodeCannotStart = 126 // as shells say it
	CodeNotFound    = 127
	codeSignal      = 128 // and the signal's number
)

// Options say what is run, and how.
type Options struct {
	Argv []string
	Dir  string // an absolute path

	// Agent names the agent whose command it is. Empty: it is known by the
	// program's name, where it is one of Agents.
	Agent  string
	Prompt string // what a session is told when it is continued

	Timeout time.Duration // one run may take this long; 0: no bound
	RetryOn []limit.Class // what is worth a retry; empty: whatever may pass

	// Policy returns the policy for a failure of that class; agent is empty
	// where the command is not a known agent's.
	Policy  func(agent string, class limit.Class) backoff.Policy
	Margin  time.Duration // waited past a stated usage-limit reset or clock time
	MaxWait time.Duration // a stated time further away is not waited for; 0: no bound
	Grace   time.Duration // a clock time this far in the past means now, not tomorrow

	LeaseDirs []string

	Stdin          *os.File
	Stdout, Stderr *os.File
	Signals        <-chan os.Signal // what is sent to this process

	// Hear says what the streams of an agent's run tell.
	Hear func(agent, stdout, stderr string, at time.Time) Heard

	// Tidy removes what a run of an agent's session left beside its transcript.
	Tidy func(ctx context.Context, agent, session, transcript string) error

	// Left returns the process of a resume of the session that a daemon which is
	// gone has left running: nobody holds its lease.
	Left func(ctx context.Context, agent, session string) (pid int, found bool)

	// Waits is told of each wait, and what it returns is called when the wait
	// is over. Warn tells a person what does not stop the run.
	Waits func(backoff.Upcoming) (over func())
	Warn  func(error)
}

// Heard is what the streams of an agent's run tell, as far as they are in a
// format of the agent's.
type Heard struct {
	Session       string
	limit.Verdict        // of class none where the run is not known to have failed
	Text          string // the words of the failure
}

// Run runs the command until it succeeds, fails for good or the retries run
// out. It returns the exit code, and an error where there is more to say than
// the command said itself.
func Run(ctx context.Context, o Options) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	relay := newRelay(o.Signals, cancel)
	defer relay.stop()
	input, err := newInput(o.Stdin)
	if err != nil {
		return CodeFailed, err
	}
	t := &task{Options: o, relay: relay, input: input, talk: newTalk(o)}
	defer t.release()
	if err := t.hold(ctx, t.talk.id); err != nil {
		return CodeFailed, err
	}
	err = backoff.Retry(ctx, t.Policy(t.talk.name, limit.None), t.run, backoff.Options{
		Timeout:     o.Timeout,
		Retryable:   t.retryable,
		PolicyFor:   func(err error) backoff.Policy { return t.Policy(t.talk.name, classOf(err)) },
		ServerDelay: t.stated,
		OnRetry:     t.waits,
	})
	t.over()
	t.note(err)
	return conclude(err)
}

// task is one call of Run.
type task struct {
	Options
	relay *relay
	input *input
	talk  *talk
	lease *lease.Lease
	runs  int
	shown func() // ends what shows the wait
}

// Failure is a run that failed.
type Failure struct {
	Code    int // 128 and the signal's number where a signal ended it
	Verdict limit.Verdict
	Text    string    // its last words, for people
	At      time.Time // when it ended

	cut     bool          // it was sent a signal, or died of Ctrl-C: whoever did that wants an end
	final   error         // why there is no other run
	allowed time.Duration // what it took more than, where that ended it
}

func (f *Failure) Error() string {
	words := fmt.Sprintf("exit code %d", f.Code)
	if f.Text != "" {
		words = f.Text
	}
	if f.Verdict.Class == limit.None {
		return words
	}
	return fmt.Sprintf("%s (%s)", words, f.Verdict.Class)
}

// run is one run of the command.
func (t *task) run(ctx context.Context) error {
	t.over()
	argv, stdin, err := t.next()
	if err != nil {
		return err
	}
	t.runs++
	began := time.Now()
	end, err := command{argv: argv, dir: t.Dir, stdin: stdin, stdout: t.Stdout, stderr: t.Stderr}.run(ctx, t.relay)
	if err != nil {
		return err
	}
	t.talk.heard(end, began)
	t.tidy(ctx)
	if end.code == 0 && ctx.Err() == nil && !t.talk.failed() {
		return nil
	}
	failure := &Failure{Code: end.code, At: end.at, cut: end.signalled || end.code == codeSignal+int(syscall.SIGINT)}
	reader := limit.Reader{At: end.at, Grace: t.Grace}
	failure.Verdict, failure.Text = t.talk.judge(end, reader)
	if timeout, ok := errors.AsType[*backoff.TimeoutError](context.Cause(ctx)); ok {
		failure.allowed = timeout.After
		failure.Verdict = limit.Verdict{Class: limit.Timeout, WaitHelps: true} // whatever it was saying
	}
	if held := t.hold(context.WithoutCancel(ctx), t.talk.id); held != nil {
		failure.final = held
	}
	return failure
}

// tidy has what the agent left behind removed, where that must not stay. It is
// done also when the time for the run is over.
func (t *task) tidy(ctx context.Context) {
	known := t.talk.known
	if known.transcript == "" {
		return
	}
	if err := t.Tidy(context.WithoutCancel(ctx), t.talk.name, known.id, known.transcript); err != nil {
		t.Warn(err)
	}
}

// next returns the command line and the input of the next run.
func (t *task) next() ([]string, *os.File, error) {
	if t.runs == 0 {
		return t.talk.first(), t.input.file, nil
	}
	argv, continued := t.talk.next()
	if continued && !t.talk.known.again {
		return argv, nil, nil // the session has what was read
	}
	if err := t.input.rewind(); err != nil {
		return nil, nil, err
	}
	return argv, t.input.file, nil
}

// hold takes the session's lease, so that nobody else continues it while this
// process waits. The error says who does already; other trouble is told and
// gone on with.
func (t *task) hold(ctx context.Context, session string) error {
	if session == "" || t.lease != nil && t.lease.ID() == session {
		return nil
	}
	t.release()
	var err error
	t.lease, err = lease.Acquire(t.LeaseDirs, t.talk.name, session)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		return held
	}
	if err != nil {
		t.Warn(err)
	}
	if pid, found := t.Left(ctx, t.talk.name, session); found {
		return fmt.Errorf("process %d, which another resumed has started, still works on this session", pid)
	}
	return nil
}

// note leaves word of a session that was given up, so that a daemon does not
// begin with it all over again behind the caller's back.
func (t *task) note(err error) {
	exhausted, ok := errors.AsType[*backoff.ExhaustedError](err)
	if !ok {
		return
	}
	if err := t.lease.GiveUp(lease.Note{At: time.Now(), Why: exhausted.Error()}); err != nil {
		t.Warn(err)
	}
}

func (t *task) release() {
	if err := t.lease.Release(); err != nil {
		t.Warn(err)
	}
	t.lease = nil
}

// classOf returns what made a run fail.
func classOf(err error) limit.Class {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Verdict.Class
	}
	return limit.None
}

// retryable says whether a failed run is worth another one.
func (t *task) retryable(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.cut || f.final != nil {
		return false
	}
	class := f.Verdict.Class
	switch {
	case len(t.RetryOn) > 0 && !slices.Contains(t.RetryOn, class):
		return false
	case len(t.RetryOn) == 0 && !class.Transient():
		return false
	case class.Transient() && !f.Verdict.WaitHelps:
		return false
	}
	if at, ok := t.due(f); ok && t.MaxWait > 0 && at.Sub(f.At) > t.MaxWait {
		f.final = fmt.Errorf("not waited for: it lifts at %s, further away than resume.max_wait (%s)",
			at.Local().Format("Mon 2 Jan 15:04"), t.MaxWait)
		return false
	}
	if t.input.spent() && t.talk.needsInput() {
		f.final = errors.New("not tried again: its prompt came by a pipe and cannot be given twice")
		return false
	}
	return true
}

// due returns when a stated limit lifts, with the margin it needs.
func (t *task) due(f *Failure) (time.Time, bool) {
	reset := f.Verdict.Reset
	if !reset.Stated() {
		return time.Time{}, false
	}
	if reset.Rough || f.Verdict.Class == limit.UsageLimit {
		return reset.At.Add(t.Margin), true
	}
	return reset.At, true
}

// stated returns the wait that was asked for, counted from the run's end: the
// wait itself is counted from a moment later, and so is never too short.
func (t *task) stated(err error) (time.Duration, bool) {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return 0, false
	}
	at, ok := t.due(f)
	return at.Sub(f.At), ok
}

// waits shows a wait until over is called.
func (t *task) waits(next backoff.Upcoming) { t.shown = t.Waits(next) }

func (t *task) over() {
	if t.shown != nil {
		t.shown()
		t.shown = nil
	}
}

// conclude turns the end of all runs into an exit code, and into what is to be
// said beyond it.
func conclude(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	if exhausted, ok := errors.AsType[*backoff.ExhaustedError](err); ok {
		return CodeGaveUp, exhausted
	}
	if interrupted, ok := errors.AsType[*backoff.InterruptedError](err); ok {
		if sig, ok := errors.AsType[*signalled](interrupted.Cause); ok {
			return codeSignal + int(sig.Signal), fmt.Errorf("stopped waiting: %w", sig)
		}
		return CodeFailed, interrupted
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		if f.final == nil && f.allowed > 0 { // it could not say so itself
			return f.Code, fmt.Errorf("the command took more than %s (--timeout) and was ended", f.allowed)
		}
		return f.Code, f.final
	}
	if cannot, ok := errors.AsType[*StartError](err); ok {
		return cannot.Code, cannot
	}
	return CodeFailed, err
}

// signalled is a signal that ended a wait.
type signalled struct{ syscall.Signal }

func (s *signalled) Error() string { return "signal: " + s.Signal.String() }
