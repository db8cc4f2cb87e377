// Package execrun runs a command under a retry policy: it finds from the exit code and the end of
// the output why a run failed, waits, and tries again. A known agent in print mode is continued
// in the same session.
package execrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/agent"
	"resumed/internal/backoff"
	"resumed/internal/childenv"
	"resumed/internal/lease"
	"resumed/internal/limit"
	"resumed/internal/starts"
)

// The exit codes that are not those of the command.
const (
	CodeFailed      = 1
	CodeGaveUp      = 75  // no retries are left, or the session is left to somebody else
	CodeCannotStart = 126 // as in shells
	CodeNotFound    = 127
	codeSignal      = 128 // plus the number of the signal
	codeCtrlC       = codeSignal + int(syscall.SIGINT)
)

// Options are the command, and how it is run.
type Options struct {
	Argv []string
	Dir  string // an absolute path

	// Agent is the name of the agent that the command runs. Empty: it is found by the name of
	// the program, if one of Agents has it.
	Agent  string
	Agents map[string]agent.Agent // by name
	// Prompt returns what a session is told when it is continued, by what stopped it and the number of the
	// try.
	Prompt func(limit.Verdict, int) string

	Timeout time.Duration // how long one run may take; 0: no limit
	RetryOn []limit.Class // the classes to retry; empty: all that may pass

	// Policy returns the policy for a failure of that class; agent is empty if the command is not
	// that of a known agent.
	Policy  func(agent string, class limit.Class) backoff.Policy
	Margin  time.Duration // added to a stated usage-limit reset or clock time
	MaxWait time.Duration // a stated time further away is not waited for; 0: no limit
	Grace   time.Duration // a clock time this far in the past means now, not tomorrow

	LeaseDirs []string
	Starts    *starts.Store // where a daemon finds how a session was started that is left to it

	Stdin          *os.File
	Stdout, Stderr *os.File
	Signals        <-chan os.Signal // sent to this process

	// Cancelled is called if a person ended the wait for a session, or its run. It may be nil.
	Cancelled func(agent, session string)

	// Messages is where waits and problems are reported; Live: a line there can be rewritten.
	Messages io.Writer
	Live     bool
}

// Run runs the command until it succeeds, fails for good or no retries are left. It returns the
// exit code, and an error if there is more to report than the command printed.
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
		Retryable:   t.retryable,
		PolicyFor:   func(err error) backoff.Policy { return t.Policy(t.talk.name, classOf(err)) },
		ServerDelay: t.stated,
		OnRetry:     t.waits,
	})
	t.over()
	t.note(err)
	if len(t.document) > 0 {
		if _, err := o.Stdout.Write(t.document); err != nil {
			return CodeFailed, fmt.Errorf("pass on the command's output: %w", err)
		}
	}
	return conclude(err)
}

type task struct {
	Options
	relay *relay
	input *input
	talk  *talk
	lease *lease.Lease
	runs  int
	shown func() // ends the display of the wait

	document []byte // what the latest run printed, if that is one document
}

// Failure is a run that failed.
type Failure struct {
	Code    int // 128 plus the number of the signal if one ended it
	Verdict limit.Verdict
	Text    string    // the end of its output, for people
	At      time.Time // when it ended

	cut     bool          // a signal was passed on to it, or Ctrl-C ended it: so the sender wants an end
	final   error         // why it is not run again
	allowed time.Duration // the timeout, if that ended it
}

func (f *Failure) Error() string {
	words := fmt.Sprintf("exit code %d", f.Code)
	if f.Text != "" {
		words = f.Text
	}
	if f.Verdict.Class != limit.None {
		words = fmt.Sprintf("%s (%s)", words, f.Verdict.Class)
	}
	if f.allowed > 0 {
		words = f.timedOut() + ": " + words
	}
	return words
}

func (f *Failure) timedOut() string { return "timed out after " + backoff.FormatDuration(f.allowed) }

// errTimeout is why the context of a run that takes too long ends.
var errTimeout = errors.New("the run took too long")

// run is one run of the command.
func (t *task) run(ctx context.Context) error {
	t.over()
	argv, stdin, err := t.next(ctx)
	if err != nil {
		return err
	}
	if t.Timeout > 0 { // not by Retry: the time in which another process holds the session does not count
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
		defer cancel()
	}
	t.runs++
	t.talk.begins()
	end, err := command{
		argv: argv, dir: t.Dir, unset: t.acting(), stdin: stdin, stdout: t.Stdout, stderr: t.Stderr, holdBack: t.talk.document(),
		observe: t.observeStart,
	}.run(ctx, t.relay)
	if err != nil {
		return err
	}
	if len(end.document) > 0 {
		t.document = end.document
	}
	lasting := context.WithoutCancel(ctx) // the rest is done even if the time for the run is over
	reader := limit.Reader{At: end.at, Grace: t.Grace}
	t.talk.heard(lasting, end, reader)
	t.storeStart(end.at)
	if err := t.talk.tidy(lasting); err != nil {
		t.Warn(err)
	}
	if end.code == 0 && ctx.Err() == nil && !t.talk.failed() {
		t.Starts.Remove(t.talk.session().Key)
		return nil
	}
	failure := &Failure{Code: end.code, At: end.at, cut: end.signalled || end.code == codeCtrlC}
	failure.Verdict, failure.Text = t.talk.judge(end, reader)
	failure.final = t.hold(lasting)
	if errors.Is(context.Cause(ctx), errTimeout) {
		failure.allowed = t.Timeout
		failure.Verdict = limit.Verdict{Class: limit.Timeout, WaitHelps: true} // whatever it printed
	}
	return failure
}

// acting returns the variables that a later run does not get: with them the agent acts by itself when it
// starts, beside the prompt that continues the session.
func (t *task) acting() []string {
	if t.runs <= 1 || t.talk.agent == nil {
		return nil
	}
	acting := t.talk.agent.Variables().Acting(childenv.Names(os.Environ()))
	if len(acting) > 0 && t.runs == 2 {
		t.Warn(fmt.Errorf("later runs do not get %s: with them the agent acts by itself when it starts", strings.Join(acting, ", ")))
	}
	return acting
}

// next returns the command line and the input of the next run.
func (t *task) next(ctx context.Context) ([]string, *os.File, error) {
	if t.runs == 0 {
		return t.talk.first(), t.input.file, nil
	}
	if err := t.awaitOwner(ctx); err != nil {
		return nil, nil, err
	}
	argv, continued := t.talk.next(t.runs)
	if continued && !t.talk.trail.Again {
		return argv, nil, nil // the session already has the input
	}
	if err := t.input.rewind(); err != nil {
		return nil, nil, err
	}
	return argv, t.input.file, nil
}

// hold takes the session's lease, so that no other process continues it while this one waits.
// The error names the process that has it already; other problems are only reported.
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

// note stores that the session was given up or cancelled, so that a daemon does not start all over
// again without the caller's knowledge. A hangup is neither: the terminal is gone, perhaps with its
// connection.
func (t *task) note(err error) {
	note, sig := lease.Note{At: time.Now()}, t.relay.got()
	if f, ok := errors.AsType[*Failure](err); ok && f.Code == codeCtrlC {
		sig = syscall.SIGINT // which went to the command, in the foreground
	}
	exhausted, ok := errors.AsType[*backoff.ExhaustedError](err)
	switch {
	case t.lease == nil:
		return
	case ok:
		note.Why = exhausted.Error()
	case sig == 0 || sig == syscall.SIGHUP:
		return
	default:
		note.Why = (&signalled{sig}).Error()
		note.Cancelled = sig != syscall.SIGTERM // a person pressed Ctrl-C
	}
	if err := t.lease.GiveUp(note); err != nil {
		t.Warn(err)
	}
	if note.Cancelled && t.Cancelled != nil {
		t.Cancelled(t.talk.name, t.talk.id)
	}
}

func (t *task) release() {
	if err := t.lease.Release(); err != nil {
		t.Warn(err)
	}
	t.lease = nil
}

func classOf(err error) limit.Class {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Verdict.Class
	}
	return limit.None
}

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

// due returns when a stated limit lifts, with the margin.
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

// stated returns the stated wait, counted from the end of the run: the wait itself starts a
// moment later, and so is never too short.
func (t *task) stated(err error) (time.Duration, bool) {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return 0, false
	}
	at, ok := t.due(f)
	if t.runs > 1 && !at.After(f.At) {
		return 0, false // it did not help before, so the policy decides
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

// conclude returns the exit code after all runs, and the error to print.
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
		if f.final == nil && f.allowed > 0 { // the command could not print it itself
			return f.Code, fmt.Errorf("the command took more than %s (--timeout) and was ended", f.allowed)
		}
		return f.Code, f.final
	}
	if taken, ok := errors.AsType[*TakenError](err); ok {
		return CodeGaveUp, taken
	}
	if cannot, ok := errors.AsType[*StartError](err); ok {
		return cannot.Code, cannot
	}
	return CodeFailed, err
}

// signalled is a signal that ended a wait.
type signalled struct{ syscall.Signal }

func (s *signalled) Error() string { return "signal: " + s.Signal.String() }
