// Package deliver delivers a resume that is due: it takes the session's lease, checks everything again,
// asks the agent how the session is continued, and sends the prompt in one of four ways. No other
// package starts a process or sends a prompt for a session.
package deliver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
	"resumed/internal/runfiles"
)

// Deliverer sends resumes and waits for the commands that run.
type Deliverer struct {
	opts    Options
	machine Machine
	leases  *leases
	files   *runfiles.Store
	tracker *tracker
}

// New returns a Deliverer. sessions are those of an earlier daemon: the processes of the stopped ones
// are looked up. Recover finds out the results of their resumes.
func New(opts Options, sessions []resume.Session) *Deliverer {
	d := &Deliverer{
		opts: opts, machine: cmp.Or[Machine](opts.Machine, here{}),
		leases: &leases{dirs: opts.LeaseDirs, held: make(map[resume.Key]*heldLease)}, files: runfiles.New(opts.StateDir), tracker: newTracker(),
	}
	for _, s := range sessions {
		d.tracker.follow(s)
		if s.Interrupted() {
			d.tracker.lookUp(s.Key, true)
		}
	}
	return d
}

// PruneFiles bounds the outputs of resumes and the copies of transcripts. It is called periodically:
// between two calls a command may write any amount.
func (d *Deliverer) PruneFiles(ctx context.Context, keep time.Duration, maxBytes int64, now time.Time) error {
	err := d.files.Prune(keep, maxBytes, now, func(key resume.Key) (int, error) {
		session, err := d.opts.Engine.Session(ctx, key)
		if err != nil || session.Run == nil {
			return 0, ctx.Err() // an unknown session has no resume
		}
		return session.Run.N, nil
	})
	if ctx.Err() != nil {
		return nil // the daemon stops: the next one prunes
	}
	return err
}

// stopPatience is how long Stop waits for a command that is being started.
const stopPatience = 15 * time.Second

// Stop stops a command, also one that is just being started. A prompt that was handed to another
// process has no command to stop.
func (d *Deliverer) Stop(ctx context.Context, key resume.Key, mark string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, errors.New("the resume is still being started: try again"))
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, lookPause) {
		if process, runs := d.tracker.running.Load(mark); runs {
			return process.(Process).Stop(context.WithoutCancel(ctx))
		}
		session, err := d.opts.Engine.Session(ctx, key)
		if err != nil || session.Run == nil || session.Run.Mark != mark || session.Run.Unverifiable {
			return err
		}
	}
	return context.Cause(ctx)
}

func (d *Deliverer) report(ctx context.Context, session resume.Session, ev resume.Event) {
	switch known := ev.(type) {
	case nil:
		return
	case *resume.NotSent:
		if known == withdrawn {
			return
		}
		known.Mark = session.Run.Mark
		ev = *known
	case resume.Ended:
		known.Mark = session.Run.Mark
		ev = known
	}
	d.apply(ctx, session.Key, ev)
}

// apply applies an event to a session, and returns the updated session. If the daemon stops meanwhile
// nothing is lost: the claim is on disk. A session that was forgotten needs no event.
func (d *Deliverer) apply(ctx context.Context, key resume.Key, ev resume.Event) (after resume.Session, ok bool) {
	after, err := d.opts.Engine.Apply(ctx, key, ev)
	if err != nil && ctx.Err() == nil && !errors.Is(err, resume.ErrNoSession) {
		d.logOf(key).Error("an event could not be applied", "err", err)
	}
	return after, err == nil
}

func (d *Deliverer) logOf(key resume.Key) *slog.Logger {
	return d.opts.Log.With("session", key.ID, "agent", key.Agent)
}

// lookPause is the time between two reads of a screen, a transcript or the engine.
const lookPause = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// withdrawn is the verdict on a resume that was cancelled meanwhile, or that a stopping daemon leaves
// to the next one: nothing is reported.
var withdrawn = new(resume.NotSent)

// tryAgain is the verdict on a resume that may be sent later.
func tryAgain(why string) *resume.NotSent { return &resume.NotSent{Why: why} }

// park is the verdict on a resume for which waiting does not help.
func park(why string) *resume.NotSent { return &resume.NotSent{Why: why, Then: resume.Park} }

// parkFor is park for a reason that the rules know; nil: there is none.
func parkFor(why resume.Reason) *resume.NotSent {
	if why.Kind == "" {
		return nil
	}
	return &resume.NotSent{Known: why, Then: resume.Park}
}

// instead says why no resume of the session would be sent.
func instead(s resume.Session, notSent *resume.NotSent) string {
	s.Offered = &notSent.Offers
	return sentence.Why(s, notSent.Reason())
}

// leaving is the verdict on a resume that the agent does not want to be sent.
func leaving(leave *agent.Skip, owner *resume.Owner) *resume.NotSent {
	notSent := &resume.NotSent{Why: leave.Why, Known: leave.Known, Until: leave.Until, Owner: owner}
	switch {
	case leave.Park:
		notSent.Then = resume.Park
	case leave.Tell:
		notSent.Then = resume.Tell
	}
	return notSent
}

// unknown is the result of a resume if it is not known whether it was sent.
func unknown(why string) resume.Ended {
	return resume.Ended{Outcome: resume.Unknown, Err: why + "; look at the session before you retry"}
}
