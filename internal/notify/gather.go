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
	"resumed/internal/resume/view"
)

// gathering is what was told and is not complete yet, and a mark for each edge
// that was told. An edge is a change of a session that people are told of.
//
// Its methods do no I/O; the notifier's mutex guards it.
type gathering struct {
	groups []*group
	marks  map[string]mark
	dirty  bool // the marks differ from what is durable
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

	Allowance *Allowance `json:"allowance,omitempty"`

	closed bool       // it takes no more
	dirty  bool       // it differs from what is in the outbox
	kept   []Delivery // what of it is in the outbox
}

// member is one session of a group.
type member struct {
	View  view.Session `json:"view"`
	Short string       `json:"short"` // what a person types for it
}

// mark remembers the last edge that was told of one session and event.
type mark struct {
	Edge string `json:"edge"`
	At   int64  `json:"at"` // in seconds; the oldest marks are forgotten first

	// group is where it was gathered.
	group string

	// fresh is set for edges that this process has heard. A mark from before
	// is a reason to pass over one equal edge: the one that is replayed, or
	// told again to be sure, after a restart. A call is passed over however often
	// it is told: the next one has another name.
	fresh bool
}

// maxMarks bounds what is remembered. The oldest marks go first.
const maxMarks = 20_000

// edgeOf names an edge so that its replay after a crash has the same name,
// whatever time it is replayed at. What calls a person has a name of its own: it
// is told again after a restart, when more may be known of the session.
func edgeOf(event Event, v view.Session) string {
	if isCall(event, v) {
		return v.Call
	}
	var limited, started int64
	if v.LimitedAt != nil {
		limited = v.LimitedAt.UnixMilli()
	}
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].StartedAt != nil {
		started = v.Attempts[n-1].StartedAt.UnixMilli()
	}
	return fmt.Sprintf("%d.%d.%d", limited, v.Attempt, started)
}

// isCall reports whether an edge is a call of a person, which has a name that no
// other has.
func isCall(event Event, v view.Session) bool {
	return v.Call != "" && (event == GaveUp || event == Parked)
}

// hear takes in that something happened to a session, once. wanted says
// whether any channel is to be told; what is not wanted is only marked, so
// that it is no news after the configuration changed.
func (all *gathering) hear(now time.Time, wait time.Duration, wanted bool, event Event, m member) {
	key := m.View.Key().String() + " " + string(event)
	edge := edgeOf(event, m.View)
	old, known := all.marks[key]
	if known && old.Edge == edge && (!old.fresh || isCall(event, m.View)) {
		old.fresh, old.At = true, now.Unix()
		all.marks[key] = old
		return
	}
	next := mark{Edge: edge, At: now.Unix(), fresh: true}
	if wanted {
		g := all.open(now, wait, event, m.View.AccountKey(), causeOf(m.View))
		g.take(m, known && old.group == g.ID)
		all.follow(g, m.View.Key(), 2*max(wait, lookTime))
		next.group = g.ID
	}
	all.marks[key] = next
	all.dirty = true
	all.prune()
}

// follow keeps news of a session from overtaking older news of it, which are still being
// gathered: on a desktop what comes last takes the place of the other. A group is held back
// for longest at most, then the older one is told early.
func (all *gathering) follow(g *group, key resume.Key, longest time.Duration) {
	about := func(m member) bool { return m.View.Key() == key }
	last := g.At.Add(longest)
	behind := false
	for _, older := range all.groups {
		switch {
		case older == g:
			behind = true
			continue
		case older.closed || !slices.ContainsFunc(older.Members, about):
			continue
		case older.Due.After(last):
			older.Due = last
		}
		if older.Due.After(g.Due) {
			g.Due = older.Due
		}
		if behind { // what is due at once is told in the order of the groups
			defer all.last(g)
		}
	}
}

// last puts a group behind all others.
func (all *gathering) last(g *group) {
	i := slices.Index(all.groups, g)
	all.groups = append(slices.Delete(all.groups, i, i+1), g)
}

// amend takes in what is newly known of a session, where its notice is still
// being gathered.
func (all *gathering) amend(now time.Time, event Event, m member) {
	in := all.marks[m.View.Key().String()+" "+string(event)].group
	for _, g := range all.groups {
		if g.ID == in && !g.closed && now.Before(g.Due) {
			g.take(m, true)
		}
	}
}

// note takes in an event that is about no session.
func (all *gathering) note(now time.Time, wait time.Duration, event Event, detail string) {
	g := all.open(now, wait, event, resume.AccountKey{}, "")
	g.Detail = detail // the last word counts
	g.dirty = true
}

// causeOf says which sessions belong into one notice. A reason is worded for
// its own session, so the class is what sessions have in common.
func causeOf(v view.Session) string { return v.Class.String() }

// open returns the group that gathers these, or a new one.
func (all *gathering) open(now time.Time, wait time.Duration, event Event, account resume.AccountKey, cause string) *group {
	for _, g := range all.groups {
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
	all.groups = append(all.groups, g)
	return g
}

func (g *group) account() resume.AccountKey {
	return resume.AccountKey{Name: g.Account, Provider: g.Provider}
}

// take adds a session, or what is newly known of one that is already in.
func (g *group) take(m member, again bool) {
	g.dirty = true
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

// copy returns a group that may be read while this one changes.
func (g *group) copy() *group {
	dup := *g
	dup.Members = slices.Clone(g.Members)
	return &dup
}

// complete closes the groups whose time has come and returns all closed ones.
// A clock that was set back does not keep a group open for the difference.
func (all *gathering) complete(now time.Time) []*group {
	var closed []*group
	for _, g := range all.groups {
		g.closed = g.closed || !now.Before(g.Due) || now.Before(g.At.Add(-time.Minute))
		if g.closed {
			closed = append(closed, g)
		}
	}
	return closed
}

// due returns when the next group is complete, and whether there is one.
func (all *gathering) due() (time.Time, bool) {
	if len(all.groups) == 0 {
		return time.Time{}, false
	}
	return slices.MinFunc(all.groups, func(a, b *group) int { return a.Due.Compare(b.Due) }).Due, true
}

func (all *gathering) prune() {
	if len(all.marks) <= maxMarks {
		return
	}
	keys := slices.SortedFunc(maps.Keys(all.marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(all.marks[a].At, all.marks[b].At), cmp.Compare(a, b))
	})
	for _, k := range keys[:maxMarks/10] { // many at once: sorting is dear
		delete(all.marks, k)
	}
}

// marksKey is where the marks are kept; marksVersion is their form. The name is
// from a time when what was being gathered was kept there too.
const (
	marksKey     = "notify/ledger"
	marksVersion = 1
)

type storedMarks struct {
	Version int               `json:"version"`
	Groups  []json.RawMessage `json:"groups,omitempty"` // read, not written any more
	Marks   map[string]mark   `json:"marks"`
}

func encodeMarks(marks map[string]mark) ([]byte, error) {
	return json.Marshal(storedMarks{Version: marksVersion, Marks: marks})
}

// decodeMarks reads what an earlier process was told, and what one of an earlier
// version was gathering. Those groups are closed: they may be in the outbox as
// they are. One that cannot be read is one lost notice, not a reason to lose
// others.
func decodeMarks(data []byte, log *slog.Logger) (*gathering, error) {
	var s storedMarks
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read what was told: %w", err)
	}
	if s.Version != marksVersion {
		return nil, fmt.Errorf("read what was told: version %d is not known", s.Version)
	}
	all := &gathering{marks: s.Marks, dirty: len(s.Groups) > 0}
	if all.marks == nil {
		all.marks = make(map[string]mark)
	}
	for _, raw := range s.Groups {
		g := &group{closed: true, dirty: true}
		if err := json.Unmarshal(raw, g); err != nil {
			log.Error("gathered notice is unreadable and lost", "err", err)
			continue
		}
		all.groups = append(all.groups, g)
	}
	return all, nil
}
