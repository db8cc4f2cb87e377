package webui

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/timeline"
)

// Backend is the daemon as the page needs it.
type Backend interface {
	control.Backend

	// Detail returns all that is known of one session.
	Detail(ctx context.Context, key resume.Key) (Detail, error)

	// Steps returns the newest steps since a time, the oldest first: of one session, or of all
	// if the key is zero.
	Steps(ctx context.Context, key resume.Key, since time.Time, most int) iter.Seq2[control.Step, error]

	// OwnSteps returns the steps since a time that concern the daemon itself, oldest first.
	OwnSteps(ctx context.Context, since time.Time) iter.Seq2[control.Step, error]
}

// Detail is all that is known of one session.
type Detail struct {
	Session view.Session // with its plan
	GoOn    string       // the command that opens the session; empty: not known
	Backoff view.Backoff
	Steps   []control.Step // the newest ones, oldest first
	Runs    []Run          // the resumes whose output is kept, oldest first
}

// Run is a resume and its output.
type Run struct {
	N            int
	Began, Ended time.Time // zero: not known
	How          string    // how it ended
	Text         string    // the end of the output
	Cut          bool      // the output was longer
}

type detail struct {
	Now      time.Time       `json:"now"`
	Row      row             `json:"row"`
	Facts    []humanize.Fact `json:"facts"`
	Evidence string          `json:"evidence,omitempty"` // in the agent's words
	GoOn     string          `json:"go_on,omitempty"`
	Commands []string        `json:"commands"` // that show more
	Resumes  []resumes       `json:"resumes"`
	WhyNot   humanize.Part   `json:"why_not"` // why it is not resumed
	Parts    []humanize.Part `json:"parts"`   // how it is continued
	Backoff  *view.Backoff   `json:"backoff,omitempty"`
	Strip    timeline.Strip  `json:"strip"`
	Steps    []step          `json:"steps"` // newest first
	Runs     []run           `json:"runs"`  // newest first
}

type resumes struct {
	Title string `json:"title"`
	Tries []try  `json:"tries"`
}

type try struct {
	N      int        `json:"n"`
	At     *time.Time `json:"at,omitempty"`
	Words  string     `json:"words"` // how long it waited, and how it ended
	Tone   string     `json:"tone"`
	Failed string     `json:"failed,omitempty"`
	Run    int        `json:"run,omitempty"` // number of the run with its output; 0: none
}

type step struct {
	At     time.Time  `json:"at"`
	What   string     `json:"what"`
	Tone   string     `json:"tone"`
	Why    string     `json:"why"`
	NextAt *time.Time `json:"next_at,omitempty"`
	Failed string     `json:"failed,omitempty"`
}

type run struct {
	N     int        `json:"n"`
	Began *time.Time `json:"began,omitempty"`
	Words string     `json:"words"` // how long it took, and how it ended
	Text  string     `json:"text"`
	Cut   bool       `json:"cut,omitempty"`
	Of    bool       `json:"of,omitempty"` // shown with its try
}

func (p *Page) session(r *http.Request) (any, error) {
	seen, err := p.backend.Detail(r.Context(), resume.Key{Agent: r.FormValue("agent"), ID: r.FormValue("id")})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	own, err := p.ownSteps(r.Context(), now)
	return showDetail(seen, own, now), err
}

func showDetail(seen Detail, own []control.Step, now time.Time) detail {
	s := seen.Session
	shown := detail{
		Now: now.UTC(), Row: showSession(s), Facts: humanize.Facts(s), Evidence: sanitize.Text(s.Text),
		GoOn: sanitize.Line(seen.GoOn), Commands: []string{}, Resumes: []resumes{}, WhyNot: humanize.WhyNot(s, now), Parts: humanize.Leash(s),
		Strip: timeline.Session(s, seen.Steps, own, now), Steps: []step{}, Runs: []run{},
	}
	for _, verb := range []string{"status", "history", "logs"} {
		shown.Commands = append(shown.Commands, humanize.CommandLine("resumed", verb, shown.Row.Name))
	}
	for _, some := range []resumes{{"Resumes", showTries(s.Attempts)}, {"Resumes of the interruption before", showTries(s.Past)}} {
		if len(some.Tries) > 0 {
			shown.Resumes = append(shown.Resumes, some)
		}
	}
	if s.Interrupted() && len(seen.Backoff.Waits) > 0 {
		shown.Backoff = &seen.Backoff
	}
	for _, each := range slices.Backward(seen.Steps) {
		shown.Steps = append(shown.Steps, showStep(each))
	}
	for _, each := range slices.Backward(seen.Runs) {
		written := showRun(each)
		if try := tryOf(shown.Resumes, each); try != nil {
			try.Run, written.Of = each.N, true
		}
		shown.Runs = append(shown.Runs, written)
	}
	return shown
}

// tryOf returns the resume of a run: the last that began before it; nil: not known.
func tryOf(all []resumes, r Run) *try {
	const coarse = time.Second // the precision of some file systems
	for _, some := range all {
		for i, t := range some.Tries { // the newest first
			if r.Began.IsZero() || t.At == nil || t.At.After(r.Began.Add(coarse)) {
				continue
			}
			if t.Run != 0 {
				return nil
			}
			return &some.Tries[i]
		}
	}
	return nil
}

func showTries(attempts []view.Attempt) []try {
	tries := make([]try, 0, len(attempts))
	for _, a := range slices.Backward(attempts) {
		tries = append(tries, try{N: a.N, At: a.StartedAt, Words: humanize.Attempt(a), Tone: string(humanize.OutcomeTone(a.Outcome)), Failed: sanitize.Line(a.Error)})
	}
	return tries
}

func showStep(s control.Step) step {
	what, tone := humanize.Plain(sanitize.Line(s.Kind)), humanize.Still
	var state resume.State
	if state.UnmarshalText([]byte(s.Kind)) == nil {
		what, tone = humanize.State(view.Session{State: state})
	}
	shown := step{At: s.At, What: what, Tone: string(tone), Why: sanitize.Line(s.Reason), Failed: sanitize.Line(s.Error)}
	if s.Outcome != "" {
		shown.What += ", " + humanize.Outcome(s.Outcome)
	}
	if !s.NextAt.IsZero() && state == resume.Waiting {
		shown.NextAt = &s.NextAt
	}
	return shown
}

func showRun(r Run) run {
	shown := run{N: r.N, Words: sanitize.Line(r.How), Text: sanitize.Text(r.Text), Cut: r.Cut}
	if !r.Began.IsZero() {
		shown.Began = new(r.Began.UTC())
		if !r.Ended.IsZero() {
			shown.Words = "took " + humanize.Span(r.Ended.Sub(r.Began)) + ", " + shown.Words
		}
	}
	return shown
}
