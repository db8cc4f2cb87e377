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
)

const (
	// crowd is how many sessions are told at once. Of more a person is shown first which
	// groups they make: to tell and to read all of ten thousand takes long.
	crowd = 500

	// smallGroup is how many sessions a group has at most that the page opens by itself.
	// Their rows come with the outline, as they are seen at once.
	smallGroup = 5

	// drawTime is how long a browser has for drawing an outline before it is sent the rows: to
	// make, send and read those of ten thousand takes the processors that would draw.
	drawTime = 150 * time.Millisecond
)

// outline comes before the rows of a crowd, and is all that is drawn before anybody opens
// a group or looks for something.
type outline struct {
	document         // its rows are those of small groups
	Groups   []group `json:"groups"`
}

// group is what sessions share that stand together.
type group struct {
	Need    int    `json:"need"`
	Cause   string `json:"cause"`
	Account string `json:"account"`

	Many   int        `json:"many"`
	NextAt *time.Time `json:"next_at,omitempty"` // of the first one
}

// part is some of the rows that an outline was of.
type part struct {
	Rows []row `json:"rows"`
	More bool  `json:"more"` // others follow; if not, now there are all
}

// groupOf says with whom a session stands. Who is being resumed, paused or back at work
// needs no more to be told of.
func groupOf(s view.Session) group {
	g := group{Need: int(humanize.Needs(s))}
	switch humanize.Need(g.Need) {
	case humanize.You:
		g.Cause, _ = humanize.State(s)
		if cause := humanize.Cause(s); cause != "" {
			g.Cause += ": " + cause
		}
	case humanize.Time:
		g.Cause = humanize.Cause(s)
	default:
		return g
	}
	g.Account = sanitize.Line(s.AccountKey().String())
	return g
}

// outlined returns the groups that sessions make, and the rows of the small ones.
func outlined(sessions []view.Session) (groups []group, few []row) {
	places := map[group]int{} // by what is the same for all of a group
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
		if groups[where[i]].Many <= smallGroup && len(few) < crowd {
			few = append(few, showSession(s))
		}
	}
	return groups, few
}

// events are what the page is sent of an update: one event, or for a crowd an outline and
// then its rows. They are made when they are sent, so that the first need not wait for the last.
func events(ctx context.Context, u control.Update) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		sessions := u.Sessions
		if !u.Whole || len(sessions) <= crowd {
			yield(event(show(u)))
			return
		}
		u.Sessions = nil
		first := outline{document: show(u)}
		first.Groups, first.Rows = outlined(sessions)
		if !yield(event(first)) {
			return
		}
		select {
		case <-time.After(drawTime):
		case <-ctx.Done():
			return
		}
		for some := range slices.Chunk(sessions, crowd) {
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
		panic(err) // it is made of text, numbers and times
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}
