package opencode

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/resume"
)

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)

// current is a session as it is in the database now.
type current struct {
	database.Session
	prompt database.Record // the last one
}

// stillStopped reads the session again, and returns why nothing may be sent if it is no longer stopped as before.
func (a *Agent) stillStopped(ctx context.Context, s resume.Session) (now current, leave *agent.Leave, err error) {
	if err := ctx.Err(); err != nil {
		return now, nil, err
	}
	if !plainName.MatchString(s.Key.ID) {
		return now, agent.Parked("the session id %q has characters that no id of %s has", s.Key.ID, a.brand.name).Leave, nil
	}
	if e, ok := a.retry(s.Key.ID); ok {
		return now, a.triesAgain(e.Status).Leave, nil
	}
	var (
		last agent.Evidence
		gone string
	)
	err = database.ReadSteadily(ctx, s.Transcript, func(db *database.DB) (err error) {
		now, last, gone, err = a.readAgain(ctx, db, s)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return now, agent.Parked("the database is gone").Leave, nil
	case err != nil:
		return now, nil, err
	case gone != "":
		return now, agent.Parked("%s", gone).Leave, nil
	}
	if why := whyNotNow(s, last); why != "" {
		return now, agent.Left(why).Leave, nil
	}
	return now, agent.CheckDir(s, now.Directory), nil
}

// triesAgain returns the plan for a session that the agent retries by itself, with the time if it is known.
func (a *Agent) triesAgain(s server.Status) agent.Plan {
	why := a.brand.title + " tries again by itself"
	if s.Next > 0 && s.Next <= database.LatestMS {
		why += " at " + time.UnixMilli(s.Next).UTC().Format(time.RFC3339)
	}
	return agent.Left(why)
}

// readAgain reads the session again. gone is why it is not to be continued at all.
func (a *Agent) readAgain(ctx context.Context, db *database.DB, s resume.Session) (now current, last agent.Evidence, gone string, err error) {
	var found bool
	now.Session, found, err = db.Session(ctx, s.Key.ID)
	switch {
	case err != nil:
		return now, last, "", err
	case !found:
		return now, last, "the session is not in the database any more", nil
	case now.Parent != "":
		return now, last, "it is a child session: its parent goes on by itself", nil
	case now.Archived:
		return now, last, "the session was archived", nil
	}
	if last, err = a.last(ctx, db, a.reader(s.Transcript), now.Session); err != nil {
		return now, last, "", err
	}
	now.prompt, err = db.LastPrompt(ctx, now.ID)
	return now, last, "", err
}

// whyNotNow returns why the session is not continued after its last event in the database, or "" if it is still
// stopped.
func whyNotNow(s resume.Session, last agent.Evidence) string {
	switch e := last.Event.(type) {
	case resume.Prompted:
		if agent.SentByUs(s, e.At) {
			return "" // of a resume that had no effect
		}
	case resume.Cancelled:
		// An unfinished turn without a process: it waited for a retry until its process died, or it
		// belongs to a resume that was ended.
		if last.Leave != "" && (!e.At.After(s.LimitedAt) || agent.SentByUs(s, e.At)) {
			return ""
		}
	}
	return agent.WhyNotNow(s, last.Event, time.Now())
}
