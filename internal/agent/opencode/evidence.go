package opencode

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/resume"
)

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
		sessions, err := db.Sessions(ctx)
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
	m, err := db.Last(ctx, s.ID)
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

// unfinished judges a session whose last message is not finished. In the database it looks the same whether
// it runs, waits for a retry, or was killed: the processes decide.
func (a *Agent) unfinished(ctx context.Context, r database.Reader, s database.Session, at time.Time) (event resume.Event, why string, err error) {
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
		return resume.Cancelled{At: at}, "its last turn was cut off: the process that ran it was ended", nil
	}
}
