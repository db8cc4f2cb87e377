package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// slack is how much a record's timestamp may differ from our clock.
const slack = time.Second

// SentByUs reports whether a prompt of that time was sent by an earlier resume of the session,
// not by the one that is about to be sent.
func SentByUs(s resume.Session, at time.Time) bool {
	for _, attempts := range [][]resume.Attempt{s.Attempts, s.Past, s.Cut} {
		for _, a := range attempts {
			if a.EndedAt.IsZero() || s.Run != nil && a.Mark == s.Run.Mark {
				continue
			}
			if !at.Before(a.StartedAt.Add(-slack)) && !at.After(a.EndedAt.Add(slack)) {
				return true
			}
		}
	}
	return false
}

// StillStopped returns the last evidence in a session's transcript and whether it still stops the
// session. If not, otherwise is the plan to follow.
func StillStopped(ctx context.Context, a Reader, s resume.Session) (last Evidence, otherwise Plan, still bool, err error) {
	last, found, err := LastOf(ctx, a, s)
	if found && last.Key != s.Key {
		return last, Left("the transcript goes on as session " + last.Key.ID), false, err
	}
	otherwise, still, err = StillStoppedBy(s, last.Event, err)
	return last, otherwise, still, err
}

// StillStoppedBy reports whether last, the last event in the transcript, still stops a session.
// If not, otherwise is the plan to follow. unread is why the transcript could not be read.
func StillStoppedBy(s resume.Session, last resume.Event, unread error) (otherwise Plan, still bool, err error) {
	if errors.Is(unread, fs.ErrNotExist) {
		return Parked("the transcript is gone"), false, nil
	}
	if unread != nil {
		return Plan{}, false, unread
	}
	if why := WhyNotNow(s, last, time.Now()); why != "" {
		return Left(why), false, nil
	}
	return Plan{}, true, nil
}

// LastOf returns the last evidence in a session's transcript. It skips prompts sent by resumed: a
// resume that was cut off leaves its prompt behind without any progress.
func LastOf(ctx context.Context, a Reader, s resume.Session) (last Evidence, found bool, err error) {
	err = Back(ctx, a, SourceOf(a, s.Transcript), s.Transcript, func(e Evidence) bool {
		if prompt, ok := e.Event.(resume.Prompted); ok && e.Key == s.Key && SentByUs(s, prompt.At) {
			return true
		}
		last, found = e, true
		return false
	})
	return last, found, err
}

// WhyNotNow returns why a session is not continued after the last event in its transcript, or ""
// if it is still stopped. A nil event means that the transcript has none.
func WhyNotNow(s resume.Session, last resume.Event, now time.Time) string {
	at := resume.When(last)
	_, cancelled := last.(resume.Cancelled)
	if s.Limit.Class == limit.CutOff && !cancelled && !at.IsZero() && !at.After(s.LimitedAt) {
		return "" // its last turn has not ended
	}
	switch e := last.(type) {
	case resume.Limited:
		reset := e.Reset
		if reset.Stated() && !reset.At.Equal(s.Limit.Reset.At) && reset.At.After(now) {
			return "the session was stopped again, until " + reset.At.UTC().Format(time.RFC3339)
		}
		return ""
	case resume.Prompted:
		return "a newer prompt was given to the session"
	case resume.Progressed:
		if s.DeniedAt(e.At) {
			return "" // a resume ended because it was refused a permission
		}
		return "the session has moved on by itself"
	case resume.Cancelled:
		return "the turn was interrupted by the user"
	default:
		return "the transcript does not say any more that the session stopped"
	}
}

// Left returns the plan for an obstacle that may pass by itself.
func Left(why string) Plan { return Plan{Leave: &Leave{Why: why}} }

// Runs returns the plan for a session that a run without a terminal holds.
func Runs(owner resume.Owner) Plan {
	return Left(fmt.Sprintf("process %d runs it without a terminal, and is waited for", owner.PID))
}

// Parked returns the plan for an obstacle that waiting does not fix.
func Parked(format string, args ...any) Plan {
	return Plan{Leave: &Leave{Why: fmt.Sprintf(format, args...), Park: true}}
}

// CheckDir returns nil for a directory that the session can work in, else why nothing may be sent.
func CheckDir(s resume.Session, dir string) *Leave {
	if dir == "" {
		return Parked("the session's directory is not known").Leave
	}
	if !filepath.IsAbs(dir) {
		return Parked("the session's directory %s is not an absolute path", dir).Leave
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return Parked("the session's directory %s is not a directory any more", dir).Leave
	}
	why := fmt.Sprintf("the session's directory cannot be used: %v", err)
	if errors.Is(err, os.ErrNotExist) {
		why = fmt.Sprintf("the session's directory %s is gone", dir)
	}
	if !MayComeBack(s) {
		return Parked("%s", why).Leave
	}
	return &Leave{Why: why + ": it is continued when that is back", Tell: true}
}

// MayComeBack reports whether the session's directory is still waited for: with a disk, a mount, a rename
// it may come back. One that is away for days was deleted.
func MayComeBack(s resume.Session) bool {
	const days = 3 * 24 * time.Hour
	return time.Since(s.WaitFrom) < days || time.Since(s.Limit.Reset.At) < days
}
