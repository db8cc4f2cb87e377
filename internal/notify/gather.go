package notify

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"resumed/internal/resume"
)

// ledger is what was told and is not yet in the outbox, and a mark for each
// edge that was told. Both are one durable value: an edge is either unheard or
// gathered and marked, whenever the power fails.
//
// Its methods do no I/O; the notifier's mutex guards it.
type ledger struct {
	groups []*group
	marks  map[string]mark
	dirty  bool // differs from what is durable
}

// group is a notice that is being gathered.
type group struct {
	ID       string    `json:"id"`
	Event    Event     `json:"event"`
	Account  string    `json:"account,omitempty"`
	Provider string    `json:"provider,omitempty"` // where the account has several
	Cause    string    `json:"cause,omitempty"`
	At       time.Time `json:"at"`
	Due      time.Time `json:"due"` // when it is complete
	Members  []member  `json:"members,omitempty"`
	Total    int       `json:"total"`            // sessions it is about; Members are the first MaxListed
	Detail   string    `json:"detail,omitempty"` // of an event without sessions

	// closed is set once its content may be in the outbox: it takes no more.
	closed bool
	// added is set once it is in the outbox, for these channels.
	added    bool
	channels []string
	payload  []byte
}

// member is one session of a group.
type member struct {
	View  resume.View `json:"view"`
	Short string      `json:"short"` // what a person types for it
}

// mark remembers the last edge that was told of one session and event.
type mark struct {
	Edge string `json:"edge"`
	At   int64  `json:"at"` // in seconds; the oldest marks are forgotten first

	// group is where it was gathered.
	group string

	// fresh is set for edges that this process has heard. A mark from before
	// is a reason to pass over one equal edge: the one that is replayed, or
	// told again to be sure, after a restart.
	fresh bool
}

// maxMarks bounds the ledger. The oldest marks go first.
const maxMarks = 20_000

// edgeOf names an edge so that its replay after a crash has the same name,
// whatever time it is replayed at.
func edgeOf(v resume.View) string {
	var limited, started int64
	if v.LimitedAt != nil {
		limited = v.LimitedAt.UnixMilli()
	}
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].StartedAt != nil {
		started = v.Attempts[n-1].StartedAt.UnixMilli()
	}
	return fmt.Sprintf("%d.%d.%d", limited, v.Attempt, started)
}

// hear takes in that something happened to a session, once. wanted says
// whether any channel is to be told; what is not wanted is only marked, so
// that it is no news after the configuration changed.
func (l *ledger) hear(now time.Time, wait time.Duration, wanted bool, event Event, m member) {
	key := m.View.Key().String() + " " + string(event)
	edge := edgeOf(m.View)
	old, known := l.marks[key]
	if known && !old.fresh && old.Edge == edge {
		old.fresh, old.At = true, now.Unix()
		l.marks[key] = old
		return
	}
	next := mark{Edge: edge, At: now.Unix(), fresh: true}
	if wanted {
		g := l.open(now, wait, event, m.View.AccountKey(), causeOf(m.View))
		g.take(m, known && old.group == g.ID)
		next.group = g.ID
	}
	l.marks[key] = next
	l.dirty = true
	l.prune()
}

// note takes in an event that is about no session.
func (l *ledger) note(now time.Time, wait time.Duration, event Event, detail string) {
	g := l.open(now, wait, event, resume.AccountKey{}, "")
	g.Detail = detail // the last word counts
	l.dirty = true
}

// causeOf says which sessions belong into one notice. A reason is worded for
// its own session, so the class is what sessions have in common.
func causeOf(v resume.View) string { return v.Class.String() }

// open returns the group that gathers these, or a new one.
func (l *ledger) open(now time.Time, wait time.Duration, event Event, account resume.AccountKey, cause string) *group {
	for _, g := range l.groups {
		if !g.closed && g.Event == event && g.account() == account && g.Cause == cause && now.Before(g.Due) {
			return g
		}
	}
	g := &group{
		ID:       "ntc_" + rand.Text(),
		Event:    event,
		Account:  account.Name,
		Provider: account.Provider,
		Cause:    cause,
		At:       now.UTC().Round(0),
		Due:      now.UTC().Round(0).Add(wait),
	}
	l.groups = append(l.groups, g)
	return g
}

func (g *group) account() resume.AccountKey {
	return resume.AccountKey{Name: g.Account, Provider: g.Provider}
}

// take adds a session, or what is newly known of one that is already in.
func (g *group) take(m member, again bool) {
	if again {
		for i := range g.Members {
			if g.Members[i].View.Key() == m.View.Key() {
				g.Members[i] = m
			}
		}
		return
	}
	g.Total++
	if len(g.Members) < MaxListed {
		g.Members = append(g.Members, m)
	}
}

// complete closes the groups whose time has come and returns all closed ones.
// A clock that was set back does not keep a group open for the difference.
func (l *ledger) complete(now time.Time) []*group {
	var closed []*group
	for _, g := range l.groups {
		g.closed = g.closed || !now.Before(g.Due) || now.Before(g.At.Add(-time.Minute))
		if g.closed {
			closed = append(closed, g)
		}
	}
	return closed
}

// due returns when the next group is complete, and whether there is one.
func (l *ledger) due() (time.Time, bool) {
	if len(l.groups) == 0 {
		return time.Time{}, false
	}
	return slices.MinFunc(l.groups, func(a, b *group) int { return a.Due.Compare(b.Due) }).Due, true
}

// drop forgets groups that are in the outbox.
func (l *ledger) drop(gone []*group) {
	l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return slices.Contains(gone, g) })
	l.dirty = true
}

func (l *ledger) prune() {
	if len(l.marks) <= maxMarks {
		return
	}
	keys := slices.SortedFunc(maps.Keys(l.marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.marks[a].At, l.marks[b].At), cmp.Compare(a, b))
	})
	for _, k := range keys[:maxMarks/10] { // many at once: sorting is dear
		delete(l.marks, k)
	}
}

// ledgerKey is where the ledger is kept; ledgerVersion is its form.
const (
	ledgerKey     = "notify/ledger"
	ledgerVersion = 1
)

type storedLedger struct {
	Version int               `json:"version"`
	Groups  []json.RawMessage `json:"groups"`
	Marks   map[string]mark   `json:"marks"`
}

// copy returns a ledger that may be read while this one changes.
func (l *ledger) copy() *ledger {
	c := &ledger{marks: maps.Clone(l.marks)}
	for _, g := range l.groups {
		dup := *g
		dup.Members = slices.Clone(g.Members)
		c.groups = append(c.groups, &dup)
	}
	return c
}

func (l *ledger) encode() ([]byte, error) {
	s := storedLedger{Version: ledgerVersion, Marks: l.marks}
	for _, g := range l.groups {
		raw, err := json.Marshal(g)
		if err != nil {
			return nil, fmt.Errorf("encode gathered notice: %w", err)
		}
		s.Groups = append(s.Groups, raw)
	}
	return json.Marshal(s)
}

// decodeLedger reads a ledger. Its groups are closed: an earlier process may
// have put them into the outbox as they are, so nothing may be added to them.
// A group that cannot be read is one lost notice, not a reason to lose others.
func decodeLedger(data []byte, log *slog.Logger) (*ledger, error) {
	var s storedLedger
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read notice ledger: %w", err)
	}
	if s.Version != ledgerVersion {
		return nil, fmt.Errorf("read notice ledger: version %d is not known", s.Version)
	}
	l := &ledger{marks: s.Marks}
	if l.marks == nil {
		l.marks = make(map[string]mark)
	}
	for _, raw := range s.Groups {
		g := &group{closed: true}
		if err := json.Unmarshal(raw, g); err != nil {
			log.Error("gathered notice is unreadable and lost", "err", err)
			continue
		}
		l.groups = append(l.groups, g)
	}
	return l, nil
}
