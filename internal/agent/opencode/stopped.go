package opencode

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
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
	var last agent.Evidence
	var two bool
	err = database.ReadSteadily(ctx, s.Transcript, func(db *database.DB) (err error) {
		now, two = current{}, db.Two()
		found, err := db.Sessions(ctx, "WHERE id = ? ", s.Key.ID)
		if err != nil || len(found) == 0 {
			return err
		}
		now.Session = found[0]
		if last, err = a.last(ctx, db, a.reader(s.Transcript), now.Session); err != nil {
			return err
		}
		now.prompt, err = db.LastPrompt(ctx, now.ID)
		return err
	})
	why := database.WhyLeft(now.Parent, now.Archived)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return now, agent.Parked("the database is gone").Leave, nil
	case err != nil:
		return now, nil, err
	case now.ID == "" && two:
		return now, &agent.Leave{Why: a.brand.title + " 2 does not have the session: open it there once", Tell: true}, nil
	case now.ID == "":
		return now, agent.Parked("the session is not in the database any more").Leave, nil
	case why != "":
		return now, agent.Parked("%s", why).Leave, nil
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

// HasDatabase reports whether path has the name of a database of the agent.
func (a *Agent) HasDatabase(path string) bool { return a.brand.isDatabase(filepath.Base(path)) }

// Evidence returns the last event in the database at path for each of its sessions.
func (a *Agent) Evidence(path string) (found []agent.Evidence, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	err = database.ReadSteadily(ctx, path, func(db *database.DB) error {
		found = nil
		sessions, err := db.Sessions(ctx, "")
		for _, s := range sessions {
			e, err := a.last(ctx, db, a.reader(path), s)
			if err != nil {
				return err
			}
			found = append(found, e)
		}
		return err
	})
	return found, err
}

// last returns the last event of a session.
func (a *Agent) last(ctx context.Context, db *database.DB, r database.Reader, s database.Session) (agent.Evidence, error) {
	m, err := db.Last(ctx, s)
	if err != nil {
		return agent.Evidence{}, err
	}
	why := database.WhyLeft(s.Parent, s.Archived)
	var event resume.Event
	switch m.Meaning {
	case database.Nothing:
		m.AtMS = s.CreatedMS
		event = resume.Progressed{At: m.At()}
	case database.Pending:
		var unfinished string
		if event, unfinished, err = a.unfinished(ctx, r, s, m.At()); err != nil {
			return agent.Evidence{}, err
		}
		why = cmp.Or(why, unfinished)
	default:
		event = m.Event(r.Limits)
	}
	return agent.Evidence{Observation: r.Observation(s, m, event), Leave: why}, nil
}

const wasCutOff = "its last turn was cut off: the process that ran it was ended"

// unfinished judges a session whose last message is not finished. In the database it looks the same whether
// it runs, waits for a retry, or was killed: the processes decide.
func (a *Agent) unfinished(ctx context.Context, r database.Reader, s database.Session, at time.Time) (event resume.Event, why string, err error) {
	switch s.Turn {
	case database.Taken:
		return resume.Progressed{At: at}, a.brand.title + " works on it, or continues it by itself when its server starts", nil
	case database.Over:
		return resume.Cancelled{At: at}, wasCutOff, nil
	case database.NotStored: // its process tells
	}
	owner, err := a.Owner(ctx, resume.Session{
		Key: resume.Key{Agent: r.Agent, ID: s.ID}, Cwd: s.Directory, Transcript: r.Path,
	})
	switch {
	case errors.Is(err, agent.ErrUnseen):
		return resume.Progressed{At: at}, "its last turn is not over, and nobody can tell whether " + a.brand.title + " still works on it", nil
	case err != nil:
		return nil, "", err
	case owner != nil:
		return resume.Progressed{At: at}, "its last turn is not over, and " + a.brand.title + " lives in its directory", nil
	default:
		return resume.Cancelled{At: at}, wasCutOff, nil
	}
}
