package opencode

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// evidenceTimeout bounds how long a database is read for one answer.
const evidenceTimeout = time.Minute

// HasDatabase reports whether a file of that name is a database of the agent.
func (a *Agent) HasDatabase(path string) bool { return a.brand.isDatabase(filepath.Base(path)) }

// Evidence returns the last thing that the database at path says about each of
// its sessions.
func (a *Agent) Evidence(path string) ([]agent.Evidence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), evidenceTimeout)
	defer cancel()
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var found []agent.Evidence
	err = sqliteread.Steadily(ctx, func(ctx context.Context) error {
		return readDatabase(ctx, path, func(db *database) error {
			found, err = a.evidence(ctx, db, path)
			return err
		})
	})
	return found, err
}

func (a *Agent) evidence(ctx context.Context, db *database, path string) (found []agent.Evidence, err error) {
	all, err := db.conversations(ctx)
	if err != nil {
		return nil, err
	}
	b := &book{path: path, agent: a.brand.name, account: a.homeOf(path).account, reader: a.Limits}
	for _, c := range all {
		messages, err := db.latest(ctx, c.id)
		if err != nil {
			return nil, err
		}
		e, err := a.judge(ctx, b, db, c, messages)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

// judge says how one session stands by its last messages, newest first.
func (a *Agent) judge(ctx context.Context, b *book, db *database, c conversation, messages []message) (agent.Evidence, error) {
	began := resume.Progressed{At: time.UnixMilli(c.createdMS).UTC()}
	e := agent.Evidence{Observation: b.observation(c, Said{atMS: c.createdMS}, began), Leave: WhyLeft(c.parent, c.archived)}
	for _, m := range messages {
		s := m.said
		switch s.meaning {
		case nothing:
			continue
		case pending:
			event, why, err := a.unfinished(ctx, b, c, s)
			if err != nil {
				return agent.Evidence{}, err
			}
			e.Observation, e.Leave = b.observation(c, s, event), cmp.Or(e.Leave, why)
			return e, nil
		case broken:
			compacted, err := db.compacted(ctx, c.id, s.atMS)
			if err != nil {
				return agent.Evidence{}, err
			}
			if compacted {
				continue
			}
		case prompted, moved, cancelled, failed:
		}
		e.Observation = b.observation(c, s, s.Event(b.reader))
		return e, nil
	}
	return e, nil
}

// WhyLeft returns why nothing is done about a session whatever happens to it, or
// nothing.
func WhyLeft(parent string, archived bool) string {
	switch {
	case parent != "":
		return "a child session: its parent goes on by itself"
	case archived:
		return "its user archived it"
	default:
		return ""
	}
}

// unfinished judges a session whose last message is not over. The database
// looks the same whether it runs, waits in a retry, or was killed: processes
// tell the first two from the last.
func (a *Agent) unfinished(ctx context.Context, b *book, c conversation, s Said) (event resume.Event, why string, err error) {
	at := time.UnixMilli(s.atMS).UTC()
	owner, err := a.Owner(ctx, resume.Session{
		Key: resume.Key{Agent: b.agent, ID: c.id}, Cwd: c.directory, Transcript: b.path,
	})
	if errors.Is(err, agent.ErrUnseen) {
		return resume.Progressed{At: at}, "its last turn is not over, and nobody can tell whether " + a.brand.title + " still works on it", nil
	}
	if err != nil {
		return nil, "", err
	}
	if owner != nil {
		return resume.Progressed{At: at}, "its last turn is not over, and " + a.brand.title + " lives in its directory", nil
	}
	return resume.Cancelled{At: at}, "its last turn was cut off: the process that ran it was ended", nil
}
