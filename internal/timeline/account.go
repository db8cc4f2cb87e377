package timeline

import (
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

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
		strip.mark(Mark{Kind: "reset", Tone: humanize.Good, Words: "the limit lifts", At: a.ResetAt.UTC()})
	}
	strip.sort(crowded)
	return strip
}

func (s *Strip) cell(at time.Time) int { return min(max(int(at.Sub(s.From)/grain), 0), cells-1) }
