package notify

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// gathering holds the notices that are not complete yet, and a mark for each edge that was reported. An
// edge is a change of a session that is reported to people.
//
// Its methods do no I/O; the notifier's mutex guards it.
type gathering struct {
	groups []*group
	held   map[string]bool // notices in the outbox that must not be sent yet: they are not complete, or not durable
	marks  map[string]mark
	dirty  bool // the marks have changed since they were stored
}

// group is a notice that is being gathered. Its title, text and command are written when it is stored.
type group struct {
	Notice
	cause  string
	due    time.Time // when it is complete
	detail string    // the text of an event without sessions

	closed   bool     // no session is added any more
	dirty    bool     // it has changed since it was stored
	channels []string // the channels that it is sent with
}

func (g *group) index(key resume.Key) int {
	return slices.IndexFunc(g.Sessions, func(v view.Session) bool { return v.Key() == key })
}

// mark is the last edge that was reported for one session and event.
type mark struct {
	Edge string `json:"edge"`
	At   int64  `json:"at"` // in seconds

	group string

	// fresh is set for edges that this process has reported. A mark of an earlier process makes one
	// equal edge be skipped: the one that is replayed, or reported again to be sure, after a restart.
	fresh bool
}

const maxMarks = 20_000

func markKey(event Event, v view.Session) string { return v.Key().String() + " " + string(event) }

// edgeOf returns a name for an edge that stays the same if the edge is replayed after a crash. A step
// that needs a person has its own name: it is reported again after a restart, when more may be known
// about the session.
func edgeOf(event Event, v view.Session) string {
	if needsPerson(event) && v.NoticeID != "" {
		return v.NoticeID
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

func needsPerson(event Event) bool {
	return event == GaveUp || event == Parked || event == CutOff || event == Silent
}

// add adds a session to the notice of an event, once for each edge. If no channel wants the event, the
// edge is only marked, so that it is not reported after the configuration changes.
func (all *gathering) add(now time.Time, wait time.Duration, wanted bool, event Event, v view.Session) {
	key, edge := markKey(event, v), edgeOf(event, v)
	old, known := all.marks[key]
	named := needsPerson(event) && v.NoticeID != "" // the name is unique to this step, however often it is reported
	if known && old.Edge == edge && (!old.fresh || named) {
		old.fresh, old.At = true, now.Unix()
		all.marks[key] = old
		return
	}
	next := mark{Edge: edge, At: now.Unix(), fresh: true}
	if wanted {
		g := all.open(now, wait, event, v.AccountKey(), v.Class.String())
		if known && old.group == g.ID {
			g.update(v)
		} else {
			g.append(v)
		}
		all.putBehindOlderNews(g, v.Key(), 2*max(wait, lookTime))
		next.group = g.ID
	}
	all.marks[key] = next
	all.dirty = true
	all.prune()
}

// putBehindOlderNews keeps a notice from overtaking an older one about the same session that is still
// being gathered: on a desktop the later notice replaces the other. A group is delayed for at most
// longest; then the older group is completed early.
func (all *gathering) putBehindOlderNews(g *group, key resume.Key, longest time.Duration) {
	last := g.At.Add(longest)
	for _, older := range all.groups {
		if older == g || older.closed || older.index(key) < 0 {
			continue
		}
		if older.due.After(last) {
			older.due, older.dirty = last, true
		}
		if !g.due.After(older.due) {
			g.due = older.due.Add(time.Millisecond) // notices are sent in the order in which they are due
		}
	}
}

func (all *gathering) amend(now time.Time, event Event, v view.Session) {
	in := all.marks[markKey(event, v)].group
	for _, g := range all.groups {
		if g.ID == in && !g.closed && now.Before(g.due) {
			g.update(v)
		}
	}
}

// open returns the group for this event, account and cause, or a new one.
func (all *gathering) open(now time.Time, wait time.Duration, event Event, account resume.AccountKey, cause string) *group {
	for _, g := range all.groups {
		if !g.closed && g.Event == event && g.account() == account && g.cause == cause && now.Before(g.due) {
			g.dirty = true
			return g
		}
	}
	g := newGroup(event, now)
	g.Account, g.Provider, g.cause, g.due = account.Name, account.Provider, cause, g.At.Add(wait)
	all.groups, all.held[g.ID] = append(all.groups, g), true
	return g
}

func newGroup(event Event, now time.Time) *group {
	return &group{Notice: Notice{ID: "ntc_" + rand.Text(), Event: event, At: now.UTC().Round(0)}, dirty: true}
}

func (g *group) account() resume.AccountKey {
	return resume.AccountKey{Name: g.Account, Provider: g.Provider}
}

func (g *group) append(v view.Session) {
	if len(g.Sessions) < MaxListed {
		g.Sessions = append(g.Sessions, v)
	} else {
		g.Omitted++
	}
}

func (g *group) update(v view.Session) {
	if i := g.index(v.Key()); i >= 0 {
		g.Sessions[i], g.dirty = v, true
	}
}

// complete closes the groups that are due and returns all closed ones. If the clock was set back, a
// group does not stay open for the difference.
func (all *gathering) complete(now time.Time) []*group {
	var closed []*group
	for _, g := range all.groups {
		g.closed = g.closed || !now.Before(g.due) || now.Before(g.At.Add(-time.Minute))
		if g.closed {
			closed = append(closed, g)
		}
	}
	return closed
}

// untilDue returns how long until the next group is complete, at most longestSleep.
func (all *gathering) untilDue(now time.Time) time.Duration {
	wait := longestSleep
	for _, g := range all.groups {
		wait = min(wait, max(g.due.Sub(now), 0))
	}
	return wait
}

func (all *gathering) prune() {
	if len(all.marks) <= maxMarks {
		return
	}
	keys := slices.SortedFunc(maps.Keys(all.marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(all.marks[a].At, all.marks[b].At), cmp.Compare(a, b))
	})
	for _, k := range keys[:maxMarks/10] { // many at once: sorting is slow
		delete(all.marks, k)
	}
}

const maxViewAttempts = 50

// trimView bounds the size of one session in a notice and sanitizes texts that others wrote.
func trimView(v view.Session) view.Session {
	v.Reason = sanitize.Short(v.Reason, 500)
	v.Started.Argv, v.Plan = []string{}, nil // what people told their agents stays on this machine
	v.Carried.LeftOut = notCarried(v.Carried.LeftOut)
	v.Attempts = append([]view.Attempt{}, v.Attempts[max(0, len(v.Attempts)-maxViewAttempts):]...)
	for i := range v.Attempts {
		v.Attempts[i].Error = sanitize.Short(v.Attempts[i].Error, 300)
	}
	return v
}

// notCarried returns the names of what a resume did not repeat, without the values of flags and without
// reasons.
func notCarried(leftOut []string) []string {
	names := make([]string, 0, len(leftOut))
	for _, words := range leftOut {
		what, _, _ := strings.Cut(words, ": ")
		if strings.HasPrefix(what, "-") {
			what = strings.FieldsFunc(what, func(r rune) bool { return r == ' ' || r == '=' })[0]
		}
		names = append(names, sanitize.Short(what, 80))
	}
	return names
}

// marksKey is the key under which the marks are stored, and marksVersion the version of their format.
const (
	marksKey     = "notify/ledger"
	marksVersion = 1
)

type storedMarks struct {
	Version int             `json:"version"`
	Marks   map[string]mark `json:"marks"`
}
