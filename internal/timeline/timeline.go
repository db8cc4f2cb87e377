// Package timeline computes the past and the expected future of sessions and accounts as strips, from
// the history. A user interface only has to draw them.
package timeline

import (
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Reach is how far a strip goes back, and ahead.
const Reach = 24 * time.Hour

// grain is the shortest time that is shown: less than a pixel of a strip. It bounds the size of a
// strip, whatever happened.
const grain = 2 * time.Minute

// Kind is what a part of a strip shows.
type Kind string

// The kinds, in the order of priority if several sessions share a strip.
const (
	Limited  Kind = "limited"  // an allowance is used up
	Outage   Kind = "outage"   // the provider fails
	Waiting  Kind = "waiting"  // it waits for another reason
	Stopped  Kind = "stopped"  // a person is needed
	Resuming Kind = "resuming" // it is being resumed
	Working  Kind = "working"  // the session is not stopped
	Unknown  Kind = "unknown"  // the session was not observed
	Away     Kind = "away"     // no daemon ran, whatever else happened
)

var kinds = []Kind{Limited, Outage, Waiting, Stopped, Resuming, Working, Unknown}

// Strip is the time around now.
type Strip struct {
	From  time.Time `json:"from"`
	Now   time.Time `json:"now"`
	To    time.Time `json:"to"`
	Spans []Span    `json:"spans"` // never null; in order, they do not overlap
	Away  []Span    `json:"away"`  // never null; when no daemon ran, beside the others
	Marks []Point   `json:"marks"` // never null; in order
}

// Span is a time without a change.
type Span struct {
	Kind     Kind      `json:"kind"`
	Words    string    `json:"words"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Expected bool      `json:"expected,omitempty"` // it is in the future
}

// Point is a point in time: a resume, or something that is expected.
type Point struct {
	Kind  string        `json:"kind"` // resume | reset | next | end
	Tone  humanize.Tone `json:"tone"`
	Words string        `json:"words"`
	At    time.Time     `json:"at"`
	Times int           `json:"times,omitempty"` // how many events it stands for; 0: one
}

func newStrip(own []control.Step, now time.Time) Strip {
	now = now.UTC()
	return Strip{From: now.Add(-Reach), Now: now, To: now.Add(Reach), Spans: []Span{}, Away: away(own, now.Add(-Reach)), Marks: []Point{}}
}

// Session returns the strip of one session. Its steps are in order, and may begin before the strip
// does; own are the steps of the daemon itself.
func Session(v view.Session, steps, own []control.Step, now time.Time) Strip {
	strip := newStrip(own, now)
	strip.Spans = coarse(past(v, steps, strip.From, strip.Now))
	for _, tick := range ticks(steps) {
		strip.mark(tick)
	}
	strip.ahead(v)
	strip.sort(grain)
	return strip
}

// cells is into how many parts the past of an account is divided.
const cells = int(Reach / grain)

// crowded is the shortest time between two resumes that have separate marks, if many sessions share a
// strip.
const crowded = 20 * time.Minute

// Account returns the strip of the limit that sessions share: at each moment the worst state among
// them. steps are the steps of each session, own those of the daemon, in order.
func Account(a control.Account, sessions []view.Session, steps map[resume.Key][]control.Step, own []control.Step, now time.Time) Strip {
	strip := newStrip(own, now)
	var worst [cells]Span
	for _, v := range sessions {
		for _, span := range past(v, steps[v.Key()], strip.From, strip.Now) {
			if span.Kind == Stopped { // the session is stopped, not the shared limit
				continue
			}
			for i := strip.cell(span.From); i <= strip.cell(span.To.Add(-1)); i++ {
				if worst[i].Kind == "" || slices.Index(kinds, span.Kind) < slices.Index(kinds, worst[i].Kind) {
					worst[i] = span
				}
			}
		}
		for _, tick := range ticks(steps[v.Key()]) {
			strip.mark(tick)
		}
	}
	for i, cell := range worst {
		if cell.Kind != "" {
			from := strip.From.Add(time.Duration(i) * grain)
			strip.Spans = joined(strip.Spans, Span{Kind: cell.Kind, Words: cell.Words, From: from, To: from.Add(grain)})
		}
	}
	if a.State != string(resume.Closed) && a.ResetAt != nil && a.ResetAt.After(strip.Now) {
		words := "limited"
		if n := len(strip.Spans); n > 0 && strip.Spans[n-1].Kind == Limited {
			words = strip.Spans[n-1].Words
		}
		strip.expect(Limited, words, *a.ResetAt)
		strip.mark(Point{Kind: "reset", Tone: humanize.Good, Words: "the limit lifts", At: a.ResetAt.UTC()})
	}
	strip.sort(crowded)
	return strip
}

func (s *Strip) cell(at time.Time) int { return min(max(int(at.Sub(s.From)/grain), 0), cells-1) }

// away returns when no daemon ran, by the daemon's own steps: each start records when a daemon was last
// alive.
func away(own []control.Step, from time.Time) []Span {
	spans := []Span{}
	last := from // when a daemon was last alive
	for _, step := range own {
		if began := resume.Later(last, step.AliveAt).UTC(); step.Kind == "started" && step.At.Sub(began) >= grain {
			spans = append(spans, Span{Kind: Away, Words: "no daemon ran", From: began.UTC(), To: step.At.UTC()})
		}
		last = resume.Later(last, step.At).UTC()
	}
	return spans
}

// past returns what a session did until now, by its steps.
func past(v view.Session, steps []control.Step, from, now time.Time) []Span {
	// Before its first step, the session was in the state that this step left. Without steps, it was in
	// its current state.
	kind, words := kindOf(v.State, v.Class)
	first := now
	if len(steps) > 0 {
		kind, words = kindNamed(steps[0].From, steps[0].Class)
		first = resume.Earlier(steps[0].At, now).UTC()
	} else if v.LimitedAt != nil && v.Interrupted() {
		first = resume.Earlier(*v.LimitedAt, now).UTC()
		steps = []control.Step{{At: first, To: v.State.String(), Class: v.Class.String()}}
		kind, words = kindOf(resume.Watching, limit.None)
	}
	spans, began := beginning(v, kind, from, first)
	put := func(until time.Time) {
		if until.After(began) {
			spans = append(spans, Span{Kind: kind, Words: words, From: began, To: until})
			began = until
		}
	}
	for _, step := range steps {
		if step.To == "" {
			continue
		}
		next, its := kindNamed(step.To, step.Class)
		if next == kind && its == words {
			continue
		}
		put(resume.Earlier(step.At, now).UTC())
		kind, words = next, its
	}
	put(now)
	return spans
}

// beginning returns since when the state of a session is known, and a span for the time before, unless
// the session did not exist yet. If it was stopped before its first step, it was stopped all the time:
// otherwise there would be a step for it.
func beginning(v view.Session, kind Kind, from, first time.Time) ([]Span, time.Time) {
	if kind != Working || !first.After(from) {
		return nil, from
	}
	if v.BornAt != nil && !v.BornAt.After(first) {
		return nil, resume.Later(from, *v.BornAt).UTC()
	}
	known := first
	if v.FoundAt != nil {
		known = resume.Earlier(resume.Later(from, *v.FoundAt), first).UTC()
	}
	if !known.After(from) {
		return nil, from
	}
	return []Span{{Kind: Unknown, Words: "not known", From: from, To: known}}, known
}

// ticks returns a mark for each resume in the steps, with its outcome.
func ticks(steps []control.Step) []Point {
	var all []Point
	open := false
	for _, step := range steps {
		if step.Kind == resume.Resuming.String() && step.From == resume.Waiting.String() {
			all = append(all, Point{Kind: "resume", Tone: humanize.Busy, Words: "resumed: " + humanize.Outcome(""), At: step.At.UTC()})
			open = true
			continue
		}
		if step.Outcome == "" {
			continue
		}
		if !open {
			all = append(all, Point{Kind: "resume", At: step.At.UTC()})
		}
		last := &all[len(all)-1]
		last.Tone, last.Words = humanize.OutcomeTone(step.Outcome), "resumed: "+humanize.Outcome(step.Outcome)
		open = false
	}
	return all
}

// ahead adds what is expected for a session.
func (s *Strip) ahead(v view.Session) {
	if v.State != resume.Waiting || v.Paused {
		return
	}
	if v.NextAt != nil && v.NextAt.After(s.Now) {
		kind, words := kindOf(v.State, v.Class)
		s.expect(kind, words, *v.NextAt)
		s.mark(Point{Kind: "next", Tone: humanize.Busy, Words: "next resume", At: v.NextAt.UTC()})
	}
	if v.ResetAt != nil && v.ResetAt.After(s.Now) {
		s.mark(Point{Kind: "reset", Tone: humanize.Good, Words: "the limit lifts", At: v.ResetAt.UTC()})
	}
	if v.GivesUpAt != nil {
		s.mark(Point{Kind: "end", Tone: humanize.Bad, Words: "gives up", At: v.GivesUpAt.UTC()})
	}
}

func (s *Strip) expect(kind Kind, words string, until time.Time) {
	s.Spans = append(s.Spans, Span{Kind: kind, Words: words, From: s.Now, To: resume.Earlier(until, s.To).UTC(), Expected: true})
}

// mark adds a mark if it is within the strip.
func (s *Strip) mark(m Point) {
	if !m.At.Before(s.From) && !m.At.After(s.To) {
		s.Marks = append(s.Marks, m)
	}
}

// sort sorts the marks, and merges those that are too close to be shown separately.
func (s *Strip) sort(apart time.Duration) {
	slices.SortStableFunc(s.Marks, func(a, b Point) int { return a.At.Compare(b.At) })
	kept := s.Marks[:0]
	last := make(map[string]int) // index in kept, by kind and words
	for _, m := range s.Marks {
		what := m.Kind + " " + m.Words
		if i, ok := last[what]; ok && m.At.Sub(kept[i].At) < apart {
			kept[i].Times = max(kept[i].Times, 1) + 1
			continue
		}
		last[what] = len(kept)
		kept = append(kept, m)
	}
	s.Marks = kept
}

// coarse joins spans that are too short to be seen with the next one. The last span stays, however
// short: it is the current state.
func coarse(spans []Span) []Span {
	all := []Span{}
	for _, span := range spans {
		if n := len(all); n > 0 && all[n-1].To.Sub(all[n-1].From) < grain {
			span.From = all[n-1].From
			all = all[:n-1]
		}
		all = joined(all, span)
	}
	return all
}

// joined adds a span, to the last one if that is of the same kind and ends where it begins.
func joined(spans []Span, next Span) []Span {
	if n := len(spans); n > 0 && spans[n-1].Kind == next.Kind && spans[n-1].Words == next.Words && spans[n-1].To.Equal(next.From) {
		spans[n-1].To = next.To
		return spans
	}
	return append(spans, next)
}

func kindNamed(state, class string) (Kind, string) {
	var s resume.State
	if s.UnmarshalText([]byte(state)) != nil {
		s = resume.Watching
	}
	var c limit.Class
	_ = c.UnmarshalText([]byte(class)) // an unknown class is an ordinary wait
	return kindOf(s, c)
}

// kindOf returns what a session does in that state after a refusal of that class.
func kindOf(s resume.State, c limit.Class) (Kind, string) {
	words := c.Title()
	switch {
	case s == resume.Resuming || s == resume.Settling:
		return Resuming, "is being resumed"
	case s == resume.GaveUp || s == resume.Parked:
		return Stopped, humanize.Plain(s.String())
	case s != resume.Waiting:
		return Working, "works"
	case c.Allowance():
		return Limited, words
	case c.Outage():
		return Outage, words
	case c == limit.None:
		return Waiting, "waits"
	default:
		return Waiting, words
	}
}
