package opencode

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

// cursor is how far a database was read.
type cursor struct {
	Row int64  `json:"row"` // the last row that was read,
	ID  string `json:"id"`  // and the message in it

	// SeenMS is the time of the last session that was known then: later ones
	// are met for the first time.
	SeenMS int64 `json:"seen_ms"`

	// Open is the last message of each session where it was not over: its row
	// will be changed, not followed by another.
	Open map[string]string `json:"open,omitempty"`
}

// maxOpen bounds how many open messages are remembered. A process that was
// killed leaves one behind for ever.
const maxOpen = 512

// maxBehind is how many new rows are read one by one. After a long absence only
// how every session stands now is worth knowing.
const maxBehind = 5000

// book is one database that is followed. It is owned by Follow.
type book struct {
	path    string
	agent   string // whose it is
	account string
	reader  limit.Reader

	cursor   cursor
	begun    bool // cursor holds
	live     bool // it was read by this daemon: what comes now is new
	stamp    sqliteread.Stamp
	failures int    // in a row
	told     string // what was last complained of

	passedOver map[string]bool // messages that were too long to be read
}

// news is what one look at a database brought.
type news struct {
	observations []resume.Observation
	cursor       cursor
	stamp        sqliteread.Stamp
	open         map[string]standing // sessions whose last message is not over
	again        bool                // a message cannot be judged yet
	long         []message           // those that are too long to be read
}

// epoch is the same for every incarnation of a database: offsets are the times
// of what happened, so they compare across copies of it.
const epoch = "time"

// hesitation is how long a message that was cut off is left alone: a compaction
// that follows it says that no person did it.
const hesitation = 2 * time.Second

// look reads what is new. It changes nothing in b.
func (b *book) look(ctx context.Context, now time.Time) (n news, err error) {
	err = readDatabase(ctx, b.path, func(db *database) (err error) {
		n, err = b.read(ctx, db, now)
		n.stamp = db.Stamp
		return err
	})
	if err != nil {
		return news{}, err
	}
	slices.SortStableFunc(n.observations, func(a, b resume.Observation) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	return n, nil
}

// read reads on from the cursor, and how every session stands where there is
// none or the rows were numbered anew.
func (b *book) read(ctx context.Context, db *database, now time.Time) (news, error) {
	p := &pass{book: b, db: db, now: now, sessions: make(map[string]conversation)}
	p.news.cursor = cursor{
		Row: b.cursor.Row, ID: b.cursor.ID, SeenMS: b.cursor.SeenMS, Open: maps.Clone(b.cursor.Open),
	}
	if p.news.cursor.Open == nil {
		p.news.cursor.Open = make(map[string]string)
	}
	valid := b.begun
	if valid && b.cursor.Row != 0 {
		var err error
		if valid, err = db.rowIs(ctx, b.cursor.Row, b.cursor.ID); err != nil {
			return news{}, err
		}
	}
	read := p.readEnds
	if valid {
		last, err := db.lastRow(ctx)
		if err != nil {
			return news{}, err
		}
		if last-b.cursor.Row <= maxBehind {
			read = p.readOn
		}
	}
	if err := read(ctx); err != nil {
		return news{}, err
	}
	return p.news, nil
}

// accept makes what a look brought the book's own.
func (b *book) accept(n news) {
	b.cursor, b.stamp, b.begun, b.live = n.cursor, n.stamp, true, true
}
