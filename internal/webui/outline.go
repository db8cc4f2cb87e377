package webui

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/wake"
)

const (
	// outlineFrom is how many sessions are sent at once. If there are more, the page gets their
	// groups first: to send and read ten thousand rows takes long.
	outlineFrom = 500

	// smallGroup is the most sessions of a group that the page shows open. Their rows are sent
	// with the outline.
	smallGroup = 5

	// drawTime is the pause between the outline and the rows. It leaves the processors to the
	// browser, which draws the outline meanwhile.
	drawTime = 150 * time.Millisecond
)

// outline comes before the rows if there are many. It is all that the page draws until a person
// opens a group or searches.
type outline struct {
	document         // its rows are those of the small groups
	Groups   []group `json:"groups"`
}

// group is what the sessions of one group have in common.
type group struct {
	Need    int    `json:"need"`
	Cause   string `json:"cause"`
	Account string `json:"account"`

	Many   int        `json:"many"`
	NextAt *time.Time `json:"next_at,omitempty"` // the earliest of its sessions
}

type part struct {
	Rows []row `json:"rows"`
	More bool  `json:"more"` // others follow
}

// groupOf returns the group of a session. Sessions that are being resumed or paused are not divided by
// cause, and those that are not stopped not by account.
func groupOf(s view.Session) group {
	g := group{Need: int(humanize.Needs(s))}
	switch humanize.Need(g.Need) {
	case humanize.You:
		g.Cause = causeForYou(s)
	case humanize.Time:
		g.Cause = humanize.Cause(s)
	case humanize.Nothing:
		g.Cause, _ = humanize.Ended(s)
		return g
	default:
		return g
	}
	g.Account = sanitize.Line(s.AccountKey().String())
	return g
}

// causeForYou returns the title of a group that needs a person: what they are asked for, or why the
// session is stopped if that says more.
func causeForYou(s view.Session) string {
	byClass := s.Needs == nil || slices.Contains([]string{"sign_in", "billing", "retry"}, *s.Needs)
	if !byClass {
		return humanize.Asked(s)
	}
	state, _ := humanize.State(s)
	if cause := humanize.Cause(s); cause != "" {
		return state + ": " + cause
	}
	return state
}

func makeOutline(sessions []view.Session) (groups []group, few []row) {
	places := map[group]int{} // index into groups
	where := make([]int, len(sessions))
	for i, s := range sessions {
		name := groupOf(s)
		at, known := places[name]
		if !known {
			at = len(groups)
			places[name] = at
			groups = append(groups, name)
		}
		where[i] = at
		g := &groups[at]
		g.Many++
		if next := nextAt(s); next != nil && (g.NextAt == nil || next.Before(*g.NextAt)) {
			g.NextAt = next
		}
	}
	few = []row{}
	for i, s := range sessions {
		if groups[where[i]].Many <= smallGroup && len(few) < outlineFrom {
			few = append(few, showSession(s))
		}
	}
	return groups, few
}

// events returns the events for an update: one, or for many sessions an outline and then the rows.
// Each is made when it is sent, so that the first does not wait for the last.
func events(ctx context.Context, u control.Update) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		sessions := u.Sessions
		if !u.Whole || len(sessions) <= outlineFrom {
			yield(event(show(u)))
			return
		}
		u.Sessions = nil
		first := outline{document: show(u)}
		first.Groups, first.Rows = makeOutline(sessions)
		if !yield(event(first)) || !wake.Sleep(ctx, drawTime) {
			return
		}
		for some := range slices.Chunk(sessions, outlineFrom) {
			last := &some[len(some)-1] == &sessions[len(sessions)-1]
			if !yield(event(part{Rows: showSessions(some), More: !last})) {
				return
			}
		}
	}
}

func event(document any) []byte {
	data, err := json.Marshal(document)
	if err != nil {
		panic(err) // cannot happen: text, numbers and times
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}
