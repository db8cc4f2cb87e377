package database

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Cursor is how far a database was read.
type Cursor struct {
	Row int64  `json:"row"` // the last row that was read,
	ID  string `json:"id"`  // and the message in it

	// Two says that the row is one of version 2.
	Two bool `json:"two,omitempty"`

	// SeenMS is the creation time of the newest session known then: later ones are new.
	SeenMS int64 `json:"seen_ms"`

	// Open is the last message of each session in which it is not finished: its row will be
	// updated, without a new row.
	Open map[string]string `json:"open,omitempty"`
}

const (
	// maxOpen bounds how many open messages are read again. A killed process leaves one behind
	// forever.
	maxOpen = 512

	// maxBehind is how many new rows are read one by one. After a long absence only the last
	// message of every session matters.
	maxBehind = 5000

	// undecidedFor is how long the decision about a message that was cut off is delayed: if a
	// compaction follows, no person did it.
	undecidedFor = 2 * time.Second

	// epoch is the same for every copy of a database: offsets are event times, so they are
	// comparable between copies.
	epoch = "time"
)

// Reader turns new rows of a database into observations.
type Reader struct {
	Path    string
	Agent   string // its name
	Account string
	Limits  limit.Reader
	AtWord  string // why only a person's word continues a session of version 2
}

// News is the result of one reading.
type News struct {
	Observations []resume.Observation
	Cursor       Cursor
	Stamp        sqliteread.Stamp
	Undecided    bool      // it is not known yet why a message was cut off
	TooLong      []Message // messages that are too long to be read
}

// Since reads the rows after the cursor, and the open ones again. Without a cursor, or if the rows were
// renumbered, it reads the last message of every session. after says that the same daemon has read before:
// then a session seen for the first time is new.
func (r Reader) Since(ctx context.Context, cursor *Cursor, after bool, now time.Time) (News, error) {
	var p *pass
	err := Read(ctx, r.Path, func(db *DB) error {
		p = &pass{Reader: r, db: db, after: after, now: now}
		p.Stamp = db.Stamp
		last, err := db.message(ctx, "ORDER BY rowid DESC LIMIT 1")
		if err != nil {
			return err
		}
		p.Cursor.Row, p.Cursor.ID, p.Cursor.Two = last.row, last.ID, db.IsVersion2()
		if cursor != nil && (cursor.Two != db.IsVersion2() || last.row-cursor.Row > maxBehind) {
			cursor = nil
		}
		if cursor != nil && cursor.Row != 0 { // rows are renumbered when messages are undone or the database is compacted
			m, err := db.message(ctx, "WHERE rowid = ?", cursor.Row)
			if err != nil {
				return err
			}
			if m.row != cursor.Row || m.ID != cursor.ID {
				cursor = nil
			}
		}
		return p.read(ctx, cursor)
	})
	if err != nil {
		return News{}, err
	}
	slices.SortFunc(p.open, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.createdMS, b.createdMS), cmp.Compare(a.ID, b.ID))
	})
	p.Cursor.Open = make(map[string]string)
	for _, m := range p.open[max(0, len(p.open)-maxOpen):] { // the newest
		p.Cursor.Open[m.Session] = m.ID
	}
	slices.Reverse(p.Observations) // those of a session were read backwards
	slices.SortStableFunc(p.Observations, func(a, b resume.Observation) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	return p.News, nil
}

type pass struct {
	Reader
	News
	db    *DB
	after bool
	now   time.Time
	open  []Message // the last messages of their sessions, not finished
}

// read reads the rows after the cursor and the open ones, session by session, the last message first.
// Without a cursor it reads each session back to the message that tells its state.
func (p *pass) read(ctx context.Context, cursor *Cursor) error {
	which, args := "", []any(nil)
	if cursor != nil {
		open, err := json.Marshal(slices.Collect(maps.Keys(cursor.Open)))
		if err != nil {
			return err
		}
		// By an index over the sessions SQLite would read all messages.
		which = "WHERE id IN (SELECT session_id FROM " + p.db.messageTable + " NOT INDEXED WHERE rowid > ? UNION SELECT value FROM json_each(?)) "
		args = []any{cursor.Row, string(open)}
		p.Cursor.SeenMS = cursor.SeenMS
	}
	sessions, err := p.db.Sessions(ctx, which, args...)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		p.Cursor.SeenMS = max(p.Cursor.SeenMS, s.CreatedMS)
		if s.Parent != "" && cursor != nil {
			m, err := p.db.Last(ctx, s)
			if err != nil {
				return err
			}
			if _, limited := m.Event(p.Limits).(resume.Limited); limited { // this is news of the parent
				p.Observations = append(p.Observations, p.Observation(Session{ID: s.Parent}, m, resume.SubagentEnded{At: m.At()}))
			}
		}
		if WhyLeft(s.Parent, s.Archived) != "" {
			continue
		}
		messages, first := p.db.back(ctx, s.ID, ""), true
		if cursor != nil {
			messages = p.db.back(ctx, s.ID, "AND (rowid > ? OR id = ?)", cursor.Row, cursor.Open[s.ID])
			first = !p.after && s.CreatedMS > cursor.SeenMS
		}
		last := true
		for m, err := range messages {
			if err != nil {
				return err
			}
			tells, err := p.take(ctx, s, m, last, first)
			if err != nil {
				return err
			}
			if tells && cursor == nil {
				break
			}
			last = last && m.Meaning == Nothing && !m.long
		}
	}
	return nil
}

// take adds the observation of a message to the news, and reports whether there is one. last says that no later
// message tells the state of its session.
func (p *pass) take(ctx context.Context, s Session, m Message, last, first bool) (bool, error) {
	if m.long {
		p.TooLong = append(p.TooLong, m)
	}
	if last {
		var err error
		if m, err = p.db.current(ctx, s, m); err != nil {
			return false, err
		}
	}
	switch m.Meaning {
	case Nothing:
		return false, nil
	case Pending:
		if last {
			p.open = append(p.open, m)
		}
		return false, nil
	case Broken:
		compacted, err := p.db.compacted(ctx, m)
		if err != nil || compacted {
			return false, err
		}
		if last && p.now.Sub(m.At()).Abs() < undecidedFor {
			p.open = append(p.open, m)
			p.Undecided = true
			return false, nil
		}
	default:
	}
	event := m.Event(p.Limits)
	switch e := event.(type) {
	case resume.Limited:
		e.First = first
		event = e
	case resume.Prompted:
		parts, err := p.db.partsOf(ctx, m)
		if err != nil {
			return false, err
		}
		if byPerson := func(p part) bool { return !p.own() }; len(parts) > 0 && !slices.ContainsFunc(parts, byPerson) {
			e.By = p.Agent + " itself"
			event = e
		}
	}
	p.Observations = append(p.Observations, p.Observation(s, m, event))
	return true, nil
}

// Observation returns an observation of a session. Each provider of a data directory has its own limit.
func (r Reader) Observation(s Session, m Message, event resume.Event) resume.Observation {
	if limited, ok := event.(resume.Limited); ok && s.Two {
		limited.AtWord = r.AtWord
		event = limited
	}
	o := resume.Observation{
		Key:        resume.Key{Agent: r.Agent, ID: s.ID},
		Account:    r.Account,
		Provider:   cmp.Or(m.Provider(), s.provider),
		Cwd:        s.Directory,
		Transcript: r.Path,
		Kind:       s.Kind(),
		Pos:        resume.Position{Epoch: epoch, Offset: m.AtMS},
		Event:      event,
	}
	if s.CreatedMS > 0 {
		o.Made = time.UnixMilli(s.CreatedMS).UTC()
	}
	return o
}

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
	case !db.IsVersion2() || m.Meaning != Failed && m.Meaning != Cancelled:
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
	if db.IsVersion2() {
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

const maxChildren = 50 // the newest

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
	compactionBefore = 1_000
	compactionAfter  = 60_000
)

// compacted reports whether a compaction follows the message: then that cut it off, not a person.
func (db *DB) compacted(ctx context.Context, m Message) (bool, error) {
	if !db.columns["message.time_created"] {
		return false, nil
	}
	parts, err := db.selectParts(ctx, "m.session_id = ? AND m.time_created BETWEEN ? AND ?",
		m.Session, m.AtMS-compactionBefore, m.AtMS+compactionAfter)
	return slices.ContainsFunc(parts, part.compacts), err
}
