package database

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Cursor is how far a database was read.
type Cursor struct {
	Row int64  `json:"row"` // the last row that was read,
	ID  string `json:"id"`  // and the message in it

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

	// UndecidedFor is how long the decision about a message that was cut off is delayed: if a
	// compaction follows, no person did it.
	UndecidedFor = 2 * time.Second

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
}

// News is the result of one reading.
type News struct {
	Observations []resume.Observation
	Cursor       Cursor
	Stamp        sqliteread.Stamp
	Open         map[string]Open // sessions whose last message is not finished
	Undecided    bool            // a message was cut off, and the reason is not known yet
	TooLong      []Message       // messages that are too long to be read
}

// Open is a session whose last message is not finished.
type Open struct {
	Session Session
	Message Message
}

// Since reads the rows after the cursor, and the open ones again. Without a cursor, or if the rows were
// renumbered, it reads the last message of every session. after says that the same daemon has read before:
// then a session seen for the first time is new.
func (r Reader) Since(ctx context.Context, cursor *Cursor, after bool, now time.Time) (News, error) {
	var p *pass
	err := Read(ctx, r.Path, func(db *DB) (err error) {
		p = &pass{Reader: r, db: db, after: after, now: now}
		p.Stamp, p.Open = db.Stamp, make(map[string]Open)
		last, err := db.message(ctx, "ORDER BY rowid DESC LIMIT 1")
		if err != nil {
			return err
		}
		p.Cursor.Row, p.Cursor.ID = last.row, last.ID
		known, err := p.follows(ctx, cursor)
		switch {
		case err != nil:
			return err
		case known:
			err = p.readNew(ctx, *cursor)
		default:
			err = p.readLast(ctx)
		}
		p.setOpen()
		return err
	})
	if err != nil {
		return News{}, err
	}
	slices.SortStableFunc(p.Observations, func(a, b resume.Observation) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	return p.News, nil
}

// pass is one reading.
type pass struct {
	Reader
	News
	db    *DB
	after bool
	now   time.Time
}

// follows reports whether reading can continue from the cursor.
func (p *pass) follows(ctx context.Context, cursor *Cursor) (bool, error) {
	switch {
	case cursor == nil || p.Cursor.Row-cursor.Row > maxBehind:
		return false, nil
	case cursor.Row == 0:
		return true, nil
	default: // rows are renumbered when messages are undone or the database is compacted
		m, err := p.db.message(ctx, "WHERE rowid = ?", cursor.Row)
		return m.row == cursor.Row && m.ID == cursor.ID, err
	}
}

// readLast reads the last message of every session.
func (p *pass) readLast(ctx context.Context) error {
	sessions, err := p.db.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		p.Cursor.SeenMS = max(p.Cursor.SeenMS, s.CreatedMS)
		if WhyLeft(s.Parent, s.Archived) != "" {
			continue
		}
		last := true
		for m, err := range p.db.back(ctx, s.ID) {
			if err != nil {
				return err
			}
			tells, err := p.take(ctx, s, m, last, true)
			if err != nil {
				return err
			}
			if tells {
				break
			}
			last = false
		}
	}
	return nil
}

// readNew reads new rows, and the open ones again.
func (p *pass) readNew(ctx context.Context, cursor Cursor) error {
	var messages []Message
	for _, id := range cursor.Open {
		m, err := p.db.message(ctx, "WHERE id = ?", id)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	added, err := collect(p.db.messages(ctx, "WHERE rowid > ? ORDER BY rowid", cursor.Row))
	if err != nil {
		return err
	}
	messages = append(messages, added...)

	newest := make(map[string]Message)
	for _, m := range messages {
		if was, ok := newest[m.Session]; !ok || was.compare(m) < 0 {
			newest[m.Session] = m
		}
	}
	p.Cursor.SeenMS = cursor.SeenMS
	sessions := make(map[string]Session)
	for id := range newest {
		s, found, err := p.db.Session(ctx, id)
		if err != nil {
			return err
		}
		if found && WhyLeft(s.Parent, s.Archived) == "" {
			sessions[id] = s
			p.Cursor.SeenMS = max(p.Cursor.SeenMS, s.CreatedMS)
		}
	}
	for _, m := range messages {
		s, ok := sessions[m.Session]
		if !ok {
			continue
		}
		first := !p.after && s.CreatedMS > cursor.SeenMS
		if _, err := p.take(ctx, s, m, newest[m.Session].ID == m.ID, first); err != nil {
			return err
		}
	}
	return nil
}

// take adds the observation of a message to the news, and reports whether there is one. last says that it is
// the last message of its session.
func (p *pass) take(ctx context.Context, s Session, m Message, last, first bool) (bool, error) {
	if m.long {
		p.TooLong = append(p.TooLong, m)
	}
	switch m.Meaning {
	case Nothing:
		return false, nil
	case Pending:
		if last {
			p.Open[s.ID] = Open{s, m}
		}
		return false, nil
	case Broken:
		compacted, err := p.db.compacted(ctx, m)
		if err != nil || compacted {
			return false, err
		}
		if last && p.now.Sub(m.At()).Abs() < UndecidedFor {
			p.Open[s.ID] = Open{s, m}
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
		byItself, err := p.db.byItself(ctx, m)
		if err != nil {
			return false, err
		}
		if byItself {
			e.By = p.Agent + " itself"
			event = e
		}
	}
	p.Observations = append(p.Observations, p.Observation(s, m, event))
	return true, nil
}

// setOpen adds the newest open messages to the cursor.
func (p *pass) setOpen() {
	open := slices.Collect(maps.Values(p.Open))
	slices.SortFunc(open, func(a, b Open) int { return a.Message.compare(b.Message) })
	p.Cursor.Open = make(map[string]string)
	for _, o := range open[max(0, len(open)-maxOpen):] {
		p.Cursor.Open[o.Session.ID] = o.Message.ID
	}
}

// Observation returns an observation of a session. One data directory is one account, and each of its
// providers has its own limit.
func (r Reader) Observation(s Session, m Message, event resume.Event) resume.Observation {
	o := resume.Observation{
		Key:        resume.Key{Agent: r.Agent, ID: s.ID},
		Account:    r.Account,
		Provider:   m.Provider(),
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
