// Package execrun runs a command under a retry policy: it says from the exit
// code and the last words why a run failed, waits, and tries again. A known
// agent in print mode is continued in the same session.
package execrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"resumed/internal/agent"
	"resumed/internal/backoff"
	"resumed/internal/lease"
	"resumed/internal/limit"
	"resumed/internal/resume"
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
	// program's name, where it is that of one of Agents.
	Agent  string
	Agents map[string]agent.Agent // by name
	Prompt string                 // what a session is told when it is continued

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

	// Hear says how a run of an agent failed, by what it printed: of class none
	// where that does not tell.
	Hear func(agent string, rec agent.Recording) resume.Limited

	// Messages is where a person is told of waits and trouble; Live: a line there can be rewritten.
	Messages io.Writer
	Live     bool
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
	if err := t.hold(ctx); err != nil {
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
	argv, stdin, err := t.next(ctx)
	if err != nil {
		return err
	}
	t.runs++
	t.talk.begins()
	end, err := command{argv: argv, dir: t.Dir, stdin: stdin, stdout: t.Stdout, stderr: t.Stderr}.run(ctx, t.relay)
	if err != nil {
		return err
	}
	lasting := context.WithoutCancel(ctx) // what follows is done also when the time for the run is over
	t.talk.heard(lasting, end)
	if err := t.talk.tidy(lasting); err != nil {
		t.Warn(err)
	}
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
	failure.final = t.hold(lasting)
	return failure
}

// next returns the command line and the input of the next run.
func (t *task) next(ctx context.Context) ([]string, *os.File, error) {
	if t.runs == 0 {
		return t.talk.first(), t.input.file, nil
	}
	if held := t.talk.held(ctx); held != nil {
		if err := t.startOver(ctx, held); err != nil {
			return nil, nil, err
		}
	}
	argv, continued := t.talk.next()
	if continued && !t.talk.trail.Again {
		return argv, nil, nil // the session has what was read
	}
	if err := t.input.rewind(); err != nil {
		return nil, nil, err
	}
	return argv, t.input.file, nil
}

// startOver gives the session up to who holds it: the command is repeated as it
// was, where that can be.
func (t *task) startOver(ctx context.Context, held error) error {
	t.talk.startOver()
	t.release()
	if t.input.spent() && t.talk.needsInput() {
		return fmt.Errorf("not tried again: %w, and the prompt came by a pipe and cannot be given twice", held)
	}
	t.Warn(fmt.Errorf("%w: the command is repeated as it was", held))
	return t.hold(ctx)
}

// hold takes the session's lease, so that nobody else continues it while this
// process waits. The error says who does already; other trouble is told and
// gone on with.
func (t *task) hold(ctx context.Context) error {
	session := t.talk.id
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
	pid, found, err := t.talk.leftRunning(ctx)
	if err != nil {
		t.Warn(err)
	}
	if found {
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
	if t.runs > 1 && !at.After(f.At) {
		return 0, false // it has proved to be no help, and the policy decides
	}
	return at.Sub(f.At), ok
}

// waits shows a wait until over is called.
func (t *task) waits(next backoff.Upcoming) { t.shown = t.showWait(next) }

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
