package database

import (
	"context"
	"slices"

	"resumed/internal/agent"
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
func (db *DB) Last(ctx context.Context, session string) (Message, error) {
	return db.newest(ctx, session, func(m Message) (bool, error) {
		if m.Meaning == Broken {
			compacted, err := db.compacted(ctx, m)
			return !compacted, err
		}
		return m.Meaning != Nothing, nil
	})
}

// LastPrompt returns the last prompt of a session, or an empty record.
func (db *DB) LastPrompt(ctx context.Context, session string) (Record, error) {
	m, err := db.newest(ctx, session, func(m Message) (bool, error) { return m.Meaning == Prompted, nil })
	return m.Record, err
}

// FirstPrompt returns the text of a session's first prompt.
func (db *DB) FirstPrompt(ctx context.Context, session string) (string, error) {
	m, err := db.message(ctx, "WHERE session_id = ?"+db.order("ASC")+" LIMIT 1", session)
	if err != nil {
		return "", err
	}
	parts, err := db.parts(ctx, "m.id = ?", m.ID)
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

// Denied returns the last tool that a run since that time was refused.
func (db *DB) Denied(ctx context.Context, session string, sinceMS int64) (d agent.Denial, denied bool, err error) {
	for m, err := range db.back(ctx, session, "") {
		if err != nil {
			return d, false, err
		}
		if m.Meaning != Moved || m.AtMS < sinceMS {
			break // something else happened, or it was before the run
		}
		tools, err := db.parts(ctx, "m.id = ?", m.ID)
		if err != nil {
			return d, false, err
		}
		tools = slices.DeleteFunc(tools, func(p part) bool { return p.Type != "tool" })
		if i := slices.IndexFunc(tools, part.denied); i >= 0 {
			return agent.Denial{Tool: tools[i].Tool, Use: agent.UseOf(tools[i].State.Input)}, true, nil
		}
		if len(tools) > 0 {
			break // it continued with other tools
		}
	}
	return d, false, nil
}

// WhyLeft returns why a session is always ignored, or "".
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
