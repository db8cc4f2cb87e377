package database

import (
	"cmp"
	"context"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// newest returns the newest wanted message of a session, or a zero one.
func (db *DB) newest(ctx context.Context, session string, wanted func(Message) (bool, error)) (Message, error) {
	for m, err := range db.back(ctx, session, "") {
		if err != nil {
			return Message{}, err
		}
		if found, err := wanted(m); found || err != nil {
			return m, err
		}
	}
	return Message{}, nil
}

// Last returns the last message that tells the state of a session; its Meaning is Nothing if there is none.
func (db *DB) Last(ctx context.Context, s Session) (Message, error) {
	last, err := db.newest(ctx, s.ID, func(m Message) (bool, error) {
		if m.Meaning == Broken {
			compacted, err := db.compacted(ctx, m)
			return !compacted, err
		}
		return m.Meaning != Nothing, nil
	})
	if err != nil {
		return Message{}, err
	}
	return db.current(ctx, s, last)
}

// current returns the last message of a session as it counts now. A turn that is not over may be retried by
// opencode itself, whatever its last message says. A failure that version 2 took over from version 1 lost its
// status and headers, which say when the limit ends: they are in the message of version 1.
func (db *DB) current(ctx context.Context, s Session, m Message) (Message, error) {
	switch {
	case !db.Two() || m.Meaning != Failed && m.Meaning != Cancelled:
		return m, nil
	case s.Turn == Taken:
		m.Meaning = Pending
		return m, nil
	case m.Meaning != Failed || m.Error.Data.Status != 0 || !db.columns["message.id"] || !db.columns["message.data"]:
		return m, nil
	}
	old := DB{Database: db.Database, schema: version1, columns: db.columns}
	was, err := old.message(ctx, "WHERE id = ?", m.ID)
	if err == nil && was.Meaning == Failed && was.Error.Data.Message == m.Error.Data.Message {
		m.Record, m.AtMS = was.Record, was.AtMS
	}
	return m, err
}

// LastPrompt returns the last prompt of a session, or an empty record.
func (db *DB) LastPrompt(ctx context.Context, session string) (Record, error) {
	m, err := db.newest(ctx, session, func(m Message) (bool, error) { return m.Meaning == Prompted, nil })
	return m.Record, err
}

// FirstPrompt returns the text of a session's first prompt.
func (db *DB) FirstPrompt(ctx context.Context, session string) (string, error) {
	prompts := ""
	if db.Two() {
		prompts = " AND type = 'user'" // other messages precede it
	}
	m, err := db.message(ctx, "WHERE session_id = ?"+prompts+db.order("ASC")+" LIMIT 1", session)
	if err != nil {
		return "", err
	}
	parts, err := db.partsOf(ctx, m)
	for _, p := range parts {
		if p.Type == "text" && !p.Synthetic {
			return p.Text, err
		}
	}
	return "", err
}

// Context returns the size of a session's context that one of its last answers states.
func (db *DB) Context(ctx context.Context, session string) (size resume.Context, known bool, err error) {
	const most = 20
	visited := 0
	_, err = db.newest(ctx, session, func(m Message) (bool, error) {
		visited++
		size, known = m.Context()
		return known || visited == most, nil
	})
	return size, known, err
}

// Denied returns the last tool that a run since that time was refused, unless it continued with other tools.
func (db *DB) Denied(ctx context.Context, session string, sinceMS int64) (d agent.Denial, denied bool, err error) {
	_, err = db.newest(ctx, session, func(m Message) (over bool, err error) {
		if m.Meaning != Moved || m.AtMS < sinceMS {
			return true, nil // something else happened, or it was before the run
		}
		parts, err := db.partsOf(ctx, m)
		for _, p := range parts {
			over = over || p.Type == "tool"
			if !denied && p.denied() {
				d, denied = agent.Denial{Tool: cmp.Or(p.Tool, p.Name), Use: agent.UseOf(p.State.Input)}, true
			}
		}
		return over, err
	})
	return d, denied && err == nil, err
}

const maxChildren = 50

// Stopped returns the child sessions that ended with a refusal since that time, the oldest first.
func (db *DB) Stopped(ctx context.Context, parent string, since time.Time, limits limit.Reader) ([]resume.Subagent, error) {
	if !db.columns[db.sessionTable+".parent_id"] {
		return nil, nil
	}
	children, err := db.Sessions(ctx, "WHERE parent_id = ? ", parent)
	var stopped []resume.Subagent
	for _, child := range children[max(0, len(children)-maxChildren):] {
		m, err := db.Last(ctx, child)
		if err != nil {
			return nil, err
		}
		if ev, ok := m.Event(limits).(resume.Limited); ok && ev.Class.Transient() && !ev.At.Before(since) {
			stopped = append(stopped, resume.Subagent{ID: child.ID, Kind: child.Agent, Class: ev.Class, At: ev.At, Reset: ev.Reset.At})
		}
	}
	return stopped, err
}

// The time in milliseconds between a message that was cut off for a compaction and the compaction. One
// process writes both, in either order.
const (
	CompactionBefore = 1_000
	CompactionAfter  = 60_000
)

// compacted reports whether a compaction follows the message: then that cut it off, not a person.
func (db *DB) compacted(ctx context.Context, m Message) (bool, error) {
	if !db.columns["message.time_created"] {
		return false, nil
	}
	parts, err := db.selectParts(ctx, "m.session_id = ? AND m.time_created BETWEEN ? AND ?",
		m.Session, m.AtMS-CompactionBefore, m.AtMS+CompactionAfter)
	return slices.ContainsFunc(parts, part.compacts), err
}
