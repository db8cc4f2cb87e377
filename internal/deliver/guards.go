package deliver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
)

// lookAgain reads what is new in the transcript and returns the session as it
// stands then. It returns one without a resume where that was withdrawn, or the
// daemon stops.
func (d *Deliverer) lookAgain(ctx context.Context, session resume.Session) (resume.Session, *resume.NotSent) {
	mark := session.Run.Mark
	err := d.opts.Transcripts.Look(ctx, d.located(session))
	if d.opts.Stopping() {
		return resume.Session{}, nil // the claim is found again when the next one starts
	}
	if err != nil && ctx.Err() == nil {
		return resume.Session{}, &resume.NotSent{Why: "the transcript could not be read again: " + err.Error()}
	}
	session, err = d.opts.Engine.Session(ctx, session.Key)
	if err != nil || session.Run == nil || session.Run.Mark != mark {
		return resume.Session{}, nil
	}
	if notSent, err := d.setAside(ctx, session); err != nil || notSent != nil {
		return resume.Session{}, notSent
	}
	return d.located(session), nil
}

// setAside says that somebody has taken the session out of our hands, or has to say
// whether it is still wanted. It fails where the daemon stops.
func (d *Deliverer) setAside(ctx context.Context, session resume.Session) (*resume.NotSent, error) {
	if notSent := d.givenUp(session); notSent != nil {
		return notSent, nil
	}
	why, err := d.opts.Engine.Superseded(ctx, session.Key) // by what was read just now, or before a restart
	if err == nil && why == "" {
		why = session.Overdue(time.Now()) // only now it is known that nobody has gone on meanwhile
	}
	if err != nil {
		return nil, err
	}
	return parkIf(why), nil
}

// refused says why nothing may be sent to the session, whoever holds it.
func refused(session resume.Session, a agent.Agent, settings Settings) *resume.NotSent {
	if notSent := untouchable(settings, session.Cwd); notSent != nil {
		return notSent
	}
	if !agent.Watches(a, session.Transcript) {
		// Which account it is of is told by where it lies.
		return &resume.NotSent{Why: "its transcript " + session.Transcript + " is in none of the configured roots"}
	}
	if err := runner.CheckID(session.Key.ID); err != nil {
		return &resume.NotSent{Why: err.Error(), Then: resume.Park}
	}
	return foreign(settings, session.Transcript, session.Cwd)
}

// foreign says that another user can have written one of these paths: what a
// transcript says is obeyed, its permissions too, and what lies in a directory
// is run by the agent. It is asked before anything is taken from them.
func foreign(settings Settings, paths ...string) *resume.NotSent {
	for _, path := range paths {
		if path == "" {
			continue // the plan says what that means
		}
		if err := settings.Trust.Check(path); err != nil {
			return &resume.NotSent{Why: "it is not used: " + err.Error(), Then: resume.Park}
		}
	}
	return nil
}

// givenUp returns why a session is left alone of which an exec has said that it
// gave up on it, after it was stopped. A person's order is stronger.
func (d *Deliverer) givenUp(session resume.Session) *resume.NotSent {
	note, ok := lease.LastNote(d.opts.LeaseDirs, session.Key.Agent, session.Key.ID)
	if !ok || note.At.Before(session.LimitedAt) || !session.RetryAskedAt.IsZero() {
		return nil
	}
	return &resume.NotSent{Why: "resumed exec gave up on it: " + sanitize.Short(note.Why, sanitize.Sentence), Then: resume.Park}
}

// untouchable says that the directory is one that the user does not want to be
// touched, by whatever name. The rules know it by the name in the transcript.
func untouchable(settings Settings, dir string) *resume.NotSent {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // the plan says what that means
	}
	return parkIf(settings.Excluded(target))
}

// parkIf parks the session if there is a reason.
func parkIf(why string) *resume.NotSent {
	if why == "" {
		return nil
	}
	return &resume.NotSent{Why: why, Then: resume.Park}
}

// located returns the session with its transcript by the name that it has in one
// of its agent's roots: what is a link on the way to it may be another one than
// when it was read.
func (d *Deliverer) located(s resume.Session) resume.Session {
	a := d.opts.Settings().Agent(s.Key.Agent)
	if a == nil || agent.Watches(a, s.Transcript) {
		return s
	}
	target, err := filepath.EvalSymlinks(s.Transcript)
	if err != nil {
		return s
	}
	for _, src := range agent.SourcesOf(a) {
		root, err := filepath.EvalSymlinks(src.Root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			s.Transcript = filepath.Join(src.Root, rel)
			return s
		}
	}
	return s
}

// replaced says that another directory has the name of the session's own: its
// work is not there, and its permissions were not given for that. A person who
// asks for a try all the same gets it.
func replaced(s resume.Session, dir string) string {
	born, known := runner.BirthTime(dir)
	if !known || s.CwdBorn.IsZero() || !s.RetryAskedAt.IsZero() || dir != s.Cwd || born.Equal(s.CwdBorn) {
		return ""
	}
	return fmt.Sprintf("%s was replaced by another directory after the session stopped; retry to continue there", dir)
}

// lease takes the session's lease. It returns why not, where another process
// has it. A dry run sends nothing and takes none.
func (d *Deliverer) lease(ctx context.Context, key resume.Key) (held *heldLease, release func(), notSent *resume.NotSent) {
	if d.opts.DryRun {
		return new(heldLease), func() {}, nil
	}
	held, err := d.leases.take(key)
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		return nil, func() {}, &resume.NotSent{Why: other.Error()}
	}
	if err != nil {
		why := "cannot tell whether another program looks after the session: " + err.Error()
		return nil, func() {}, &resume.NotSent{Why: why}
	}
	return held, func() {
		if err := d.leases.giveBack(ctx, key, held); err != nil {
			d.log.Warn("a lease could not be given back", "session", key.ID, "agent", key.Agent, "err", err)
		}
	}, nil
}
