package termui

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// byUrgency sorts first what needs a person, then what happens next.
func byUrgency(a, b *row) int {
	x, y := &a.view, &b.view
	return cmp.Or(int(a.need-b.need), humanize.Urgency(x.State)-humanize.Urgency(y.State), cmp.Compare(next(x), next(y)), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.ID, y.ID))
}

func next(v *view.Session) int64 {
	if v.NextAt == nil {
		return 0
	}
	return v.NextAt.UnixNano()
}

// row is a session in the table. What does not change with time is computed once: there may be ten
// thousand.
type row struct {
	view    view.Session
	need    humanize.Need
	name    string // what a person types to refer to it
	project string
	agent   string
	owner   string
	why     string
	tries   string
	hay     string // the text that a filter searches
	room    layout // the width of its columns, except for the countdown
}

func newRow(v view.Session) *row {
	state, _ := humanize.State(v)
	r := &row{
		view:    v,
		need:    humanize.Needs(v),
		name:    sanitize.Line(cmp.Or(v.Name, v.ID)),
		project: humanize.Project(v),
		agent:   sanitize.Line(v.Agent),
		owner:   humanize.Owner(v),
		why:     humanize.ReasonAt(humanize.Why(v), time.Now()),
		tries:   humanize.Tries(v),
	}
	for column, cell := range r.cells(time.Time{}) {
		r.room[column] = ansi.StringWidth(cell.Text)
	}
	r.room[colNext] = 0
	r.hay = strings.ToLower(strings.Join([]string{sanitize.Line(v.ID), r.agent, sanitize.Line(v.AccountKey().String()), sanitize.Line(v.Cwd), state, r.owner, r.why}, "\n"))
	return r
}

// The columns, in the order they are shown.
const (
	colSession = iota
	colProject
	colAgent
	colState
	colNext
	colTry
	colOwner
	colWhy
	columns
)

var titles = [columns]string{"SESSION", "PROJECT", "AGENT", "STATE", "NEXT", "TRY", "OWNER", "WHY"}

// widest bounds the width of a column.
var widest = [columns]int{colProject: 28, colAgent: 20, colState: 9, colNext: 24, colTry: 7, colOwner: 18}

// What gives way in a narrow terminal, in this order: the countdown moves into the column of the
// reason, because only waiting sessions have one; columns shrink; columns are left out. The reason is
// last and gets the rest of the width. A name is truncated only if nothing else is left: people type
// it.
var (
	shrinks = []struct{ column, to, below int }{
		{colProject, 14, aloneWhy}, {colAgent, 8, aloneWhy}, {colProject, 9, leastWhy},
	}
	leaves = []struct{ column, below int }{{colOwner, aloneWhy}, {colAgent, leastWhy}, {colTry, leastWhy}}
)

const (
	gap       = 2  // between columns
	aloneWhy  = 30 // width that a reason needs beside a column of countdowns,
	leastWhy  = 22 // width that it needs with a countdown in front of it,
	uselessAt = 6  // and width below which it is useless
)

// layout is the width of each column; 0: it is left out.
type layout [columns]int

func (l *layout) grow(room layout) {
	for i, width := range room {
		l[i] = max(l[i], width)
	}
}

func (l *layout) countdowns(rows []*row, now time.Time) {
	for _, r := range rows {
		l[colNext] = max(l[colNext], ansi.StringWidth(r.when(now)))
	}
}

// fit returns the layout for a terminal of that width; 0: no bound.
func (l layout) fit(width int) layout {
	for i := range l {
		if i == colOwner && l[i] == 0 || i == colNext && l[i] == 0 {
			continue // no row has one
		}
		l[i] = max(l[i], len(titles[i]))
		if width > 0 && widest[i] > 0 {
			l[i] = min(l[i], widest[i])
		}
	}
	if width <= 0 {
		return l
	}
	if l.rest(width) < aloneWhy {
		l[colNext] = 0
	}
	for _, s := range shrinks {
		missing := s.below - l.rest(width)
		switch {
		case missing <= 0:
		case s.column == colAgent:
			l[s.column] = min(l[s.column], s.to) // names are shortened at once
		default:
			l[s.column] = min(l[s.column], max(s.to, l[s.column]-missing)) // no more than needed
		}
	}
	for _, s := range leaves {
		if l.rest(width) < s.below {
			l[s.column] = 0
		}
	}
	if l[colWhy] = l.rest(width); l[colWhy] < uselessAt {
		l[colWhy] = 0
	}
	if l.rest(width) < -gap {
		l[colProject] = 0
	}
	if missing := -gap - l.rest(width); missing > 0 {
		l[colSession] = max(1, l[colSession]-missing)
	}
	return l
}

// rest is the width that the other columns leave for the reason.
func (l layout) rest(width int) int {
	for _, w := range l[:colWhy] {
		if w > 0 {
			width -= w + gap
		}
	}
	return width
}

func (r *row) line(l layout, now time.Time, paint Paint) string {
	cells := r.cells(now)
	if l[colOwner] == 0 && r.owner != "" && !strings.Contains(r.why, strconv.Itoa(r.view.Owner.PID)) {
		cells[colWhy].Text = "held by " + r.owner + ": " + r.why
	}
	// If a person must act, the reason comes first: nothing happens by itself at that time. A reason
	// may already say that the session is due.
	if when := cells[colNext].Text; l[colNext] == 0 && when != "" && r.view.Unreached == "" && !strings.HasPrefix(r.why, "due") && r.view.WaitsFor == nil {
		cells[colWhy].Text = strings.TrimSuffix(when+": "+cells[colWhy].Text, ": ")
	}
	if ansi.StringWidth(r.agent) > l[colAgent] {
		cells[colAgent].Text = strings.TrimSuffix(r.agent, "-code") // the rest is clear enough
	}
	return l.line(cells, paint)
}

// when returns when the session continues, or for how long it has been resumed.
func (r *row) when(now time.Time) string {
	if n := len(r.view.Attempts); r.view.State == resume.Resuming && n > 0 && r.view.Attempts[n-1].StartedAt != nil && !now.IsZero() {
		return "for " + humanize.Span(now.Sub(*r.view.Attempts[n-1].StartedAt))
	}
	return humanize.Countdown(r.view, now)
}

func (r *row) cells(now time.Time) [columns]Cell {
	state, colour := stateOf(r.view)
	return [columns]Cell{
		colSession: {r.name, Bold},
		colProject: {r.project, None},
		colAgent:   {r.agent, None},
		colState:   {state, colour},
		colNext:    {r.when(now), None},
		colTry:     {r.tries, None},
		colOwner:   {r.owner, None},
		colWhy:     {r.why, None},
	}
}

func (l layout) line(cells [columns]Cell, paint Paint) string {
	var b strings.Builder
	for i, c := range cells {
		if l[i] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		text := fill(c.Text, l[i])
		trimmed := strings.TrimRight(text, " ")
		b.WriteString(paint.In(c.Colour, trimmed) + text[len(trimmed):])
	}
	return strings.TrimRight(b.String(), " ")
}

func (l layout) head(paint Paint) string {
	var cells [columns]Cell
	for i, title := range titles {
		cells[i] = Cell{title, Dim}
	}
	return l.line(cells, paint)
}

// board is the state after all updates so far. There may be ten thousand sessions: those that are not
// in an update are not rebuilt.
type board struct {
	status control.Status // without its sessions
	rows   map[resume.Key]*row
	order  []*row                    // the same, in the order in which they are shown
	needs  [humanize.Nothing + 1]int // how many sessions need what
}

// apply applies an update and returns the rows in it, in the order in which they are shown.
func (b *board) apply(u control.Update) []*row {
	b.status = u.Status
	b.status.Sessions = nil
	if u.Whole || b.rows == nil {
		b.rows = make(map[resume.Key]*row, len(u.Sessions))
	}
	for _, key := range u.Gone {
		delete(b.rows, key)
	}
	changed := make([]*row, 0, len(u.Sessions))
	for _, s := range u.Sessions {
		r := newRow(s)
		b.rows[s.Key()] = r
		changed = append(changed, r)
	}
	slices.SortFunc(changed, byUrgency)
	b.probes()
	b.order = slices.SortedFunc(maps.Values(b.rows), byUrgency)
	b.needs = [humanize.Nothing + 1]int{}
	for _, r := range b.order {
		b.needs[r.need]++
	}
	return changed
}

// probes updates the sessions that wait for another one of their account: an update has a session only if
// its own state changed, but the accounts always.
func (b *board) probes() {
	probe := make(map[resume.AccountKey]*resume.Probe, len(b.status.Accounts))
	for _, a := range b.status.Accounts {
		probe[resume.AccountKey{Name: a.Name, Provider: a.Provider}] = a.Probe
	}
	for key, r := range b.rows {
		v := r.view
		v.WaitsFor = probe[v.AccountKey()]
		if v.Held && v.Why == resume.WhyOneByOne && humanize.Why(v) != humanize.Why(r.view) {
			b.rows[key] = newRow(v)
		}
	}
}
