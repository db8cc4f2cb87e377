package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

var now = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func at(hours float64) time.Time { return now.Add(time.Duration(hours * float64(time.Hour))) }

// went is a step from one state into another.
func went(hours float64, from, to, class string) control.Step {
	return control.Step{At: at(hours), Agent: "a", Session: "1", Kind: to, From: from, To: to, Class: class}
}

func ended(s control.Step, how resume.Outcome) control.Step {
	s.Outcome = how
	return s
}

// part is a span, in hours from now.
type part struct {
	kind     Kind
	from, to float64
	expected bool
}

func parts(s Strip) []part {
	all := []part{}
	for _, span := range s.Spans {
		all = append(all, part{span.Kind, span.From.Sub(now).Hours(), span.To.Sub(now).Hours(), span.Expected})
	}
	return all
}

func TestStripsOfSessions(t *testing.T) {
	for rule, c := range map[string]struct {
		view  view.Session
		steps []control.Step
		want  []part
	}{
		"one that works has worked":           {view.Session{State: resume.Watching, BornAt: new(at(-30))}, nil, []part{{Working, -24, 0, false}}},
		"but not before it began":             {view.Session{State: resume.Watching, BornAt: new(at(-3)), FoundAt: new(at(-2))}, nil, []part{{Working, -3, 0, false}}},
		"where that is not known nobody says": {view.Session{State: resume.Watching, FoundAt: new(at(-3))}, nil, []part{{Unknown, -24, -3, false}, {Working, -3, 0, false}}},
		"nor where nobody saw it before its first step": {
			view.Session{State: resume.Waiting, Class: limit.RateLimit, FoundAt: new(at(-1))},
			[]control.Step{went(-2, "watching", "waiting", "rate_limit")},
			[]part{{Unknown, -24, -2, false}, {Limited, -2, 0, false}},
		},
		"unless its steps know better": {
			view.Session{State: resume.Watching, BornAt: new(at(-1))},
			[]control.Step{went(-5, "waiting", "watching", "")},
			[]part{{Waiting, -24, -5, false}, {Working, -5, 0, false}},
		},
		"a limit is waited out until it is resumed": {
			view.Session{State: resume.Waiting, Class: limit.UsageLimit, NextAt: new(at(2)), ResetAt: new(at(1.9))},
			[]control.Step{went(-4, "watching", "waiting", "usage_limit")},
			[]part{{Unknown, -24, -4, false}, {Limited, -4, 0, false}, {Limited, 0, 2, true}},
		},
		"no further than the strip reaches": {
			view.Session{State: resume.Waiting, Class: limit.Overloaded, NextAt: new(at(100)), LimitedAt: new(at(-2))},
			nil,
			[]part{{Unknown, -24, -2, false}, {Outage, -2, 0, false}, {Outage, 0, 24, true}},
		},
		"one that is paused expects nothing": {
			view.Session{BornAt: new(at(-30)), State: resume.Waiting, Paused: true, NextAt: new(at(2))},
			[]control.Step{went(-4, "watching", "waiting", "unknown")},
			[]part{{Working, -24, -4, false}, {Waiting, -4, 0, false}},
		},
		"a resume, and the end": {
			view.Session{BornAt: new(at(-30)), State: resume.GaveUp, Class: limit.Network},
			[]control.Step{
				went(-6, "watching", "waiting", "network"), went(-5, "waiting", "resuming", "network"), ended(went(-4, "resuming", "waiting", "network"), resume.Failed),
				went(-3, "waiting", "gave_up", "network"),
			},
			[]part{{Working, -24, -6, false}, {Outage, -6, -5, false}, {Resuming, -5, -4, false}, {Outage, -4, -3, false}, {Stopped, -3, 0, false}},
		},
		"what is too short to be seen belongs to what follows": {
			view.Session{State: resume.Watching, BornAt: new(at(-30))},
			[]control.Step{went(-6, "watching", "waiting", "rate_limit"), went(-5.99, "waiting", "resuming", "rate_limit"), went(-5.98, "resuming", "watching", "")},
			[]part{{Working, -24, 0, false}},
		},
		"but not how things stand": {
			view.Session{State: resume.Parked, FoundAt: new(at(-30))},
			[]control.Step{went(-0.001, "watching", "parked", "auth")},
			[]part{{Working, -24, -0.001, false}, {Stopped, -0.001, 0, false}},
		},
		"what nobody can read is passed over": {
			view.Session{State: resume.Watching, BornAt: new(at(-30))},
			[]control.Step{{At: at(-1), Kind: "?"}, went(-1, "dreaming", "dreaming", "?")},
			[]part{{Working, -24, 0, false}},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			got := Session(c.view, c.steps, nil, now)
			require.Len(t, got.Spans, len(c.want))
			for i, want := range c.want {
				have := parts(got)[i]
				require.Equal(t, want.kind, have.kind)
				require.Equal(t, want.expected, have.expected)
				require.InDelta(t, want.from, have.from, 0.0001)
				require.InDelta(t, want.to, have.to, 0.0001)
			}
			require.Equal(t, now.Add(-Reach), got.From)
			require.Equal(t, now.Add(Reach), got.To)
		})
	}
}

func TestMarks(t *testing.T) {
	seen := view.Session{
		State: resume.Waiting, Class: limit.Overloaded, NextAt: new(at(2)), ResetAt: new(at(1)), GivesUpAt: new(at(12)),
	}
	steps := []control.Step{
		ended(went(-20, "settling", "watching", ""), resume.Recovered), // the resume began before the strip
		went(-6, "waiting", "resuming", ""), ended(went(-5.5, "resuming", "waiting", ""), resume.LimitedOut),
		went(-4, "waiting", "resuming", ""), ended(went(-3.5, "resuming", "waiting", ""), resume.Failed),
		went(-1, "waiting", "resuming", ""),
	}
	require.Equal(t, []Point{
		{"resume", humanize.Good, "resumed: recovered", at(-20), 0},
		{"resume", humanize.Wait, "resumed: limited", at(-6), 0},
		{"resume", humanize.Bad, "resumed: failed", at(-4), 0},
		{"resume", humanize.Busy, "resumed: running", at(-1), 0},
		{"reset", humanize.Good, "the limit lifts", at(1), 0},
		{"next", humanize.Busy, "next resume", at(2), 0},
		{"end", humanize.Bad, "gives up", at(12), 0},
	}, Session(seen, steps, nil, now).Marks)
	steps = []control.Step{ended(went(-1, "settling", "watching", ""), resume.Failed), ended(went(-0.99, "settling", "watching", ""), resume.Failed)}
	require.Equal(t, []Point{{"resume", humanize.Bad, "resumed: failed", at(-1), 2}}, Session(view.Session{State: resume.Watching}, steps, nil, now).Marks, "what cannot be told apart is one")
	require.Empty(t, Session(view.Session{State: resume.Waiting, NextAt: new(at(30))}, nil, nil, now).Marks, "what lies beyond the strip")
}

// However much happened, a strip has no more parts than can be seen.
func TestAStripIsBounded(t *testing.T) {
	var steps []control.Step
	for i := range 20000 {
		when := -24 + float64(i)*24/20000
		steps = append(steps, went(when, "watching", "waiting", "rate_limit"), went(when+0.0001, "waiting", "resuming", ""), ended(went(when+0.0002, "resuming", "watching", ""), resume.Recovered))
	}
	seen := view.Session{Agent: "a", ID: "1", State: resume.Watching}
	got := Session(seen, steps, nil, now)
	require.LessOrEqual(t, len(got.Spans), cells+1)
	require.LessOrEqual(t, len(got.Marks), cells+1)
	got = Account(control.Account{State: "closed"}, []view.Session{seen}, map[resume.Key][]control.Step{seen.Key(): steps}, nil, now)
	require.LessOrEqual(t, len(got.Spans), cells)
	require.LessOrEqual(t, len(got.Marks), 73)
}

func TestStripOfAnAccountShowsTheWorst(t *testing.T) {
	views := []view.Session{
		{Agent: "a", ID: "1", State: resume.Waiting, Class: limit.UsageLimit},
		{Agent: "a", ID: "2", State: resume.Watching, BornAt: new(at(-30))},
		{Agent: "a", ID: "3", State: resume.Parked, Class: limit.Auth},
	}
	steps := map[resume.Key][]control.Step{
		views[0].Key(): {went(-6, "watching", "waiting", "usage_limit"), went(-4, "waiting", "resuming", "usage_limit"), ended(went(-3, "resuming", "watching", ""), resume.Recovered), went(-1, "watching", "waiting", "usage_limit")},
		views[1].Key(): {went(-10, "watching", "waiting", "overloaded"), went(-5, "waiting", "watching", "")},
		views[2].Key(): {went(-12, "watching", "parked", "auth")},
	}
	got := Account(control.Account{State: "open", ResetAt: new(at(3))}, views, steps, nil, now)
	require.Equal(t, []part{
		{Working, -24, -10, false},
		{Outage, -10, -6, false},
		{Limited, -6, -4, false},
		{Resuming, -4, -3, false},
		{Working, -3, -1, false},
		{Limited, -1, 0, false},
		{Limited, 0, 3, true},
	}, parts(got))
	require.Equal(t, []Point{{"resume", humanize.Good, "resumed: recovered", at(-4), 0}, {"reset", humanize.Good, "the limit lifts", at(3), 0}}, got.Marks)
	require.Equal(t, "usage limit", got.Spans[6].Words)

	free := Account(control.Account{State: "closed", ResetAt: new(at(3))}, nil, nil, nil, now)
	require.Empty(t, free.Spans)
	require.Empty(t, free.Marks)
}

// The times without a daemon are separate from the rest: each start records when a daemon was last
// alive.
func TestStripsSayWhenNoDaemonRan(t *testing.T) {
	own := func(hours float64, kind string, alive time.Time) control.Step {
		return control.Step{At: at(hours), Kind: kind, AliveAt: alive}
	}
	for rule, c := range map[string]struct {
		own  []control.Step
		want [][2]float64
	}{
		"it always ran":                          {[]control.Step{own(-4, "paused", time.Time{})}, nil},
		"the first one ever":                     {[]control.Step{own(-4, "started", time.Time{})}, [][2]float64{{-24, -4}}},
		"it was stopped before the strip begins": {[]control.Step{own(-20, "started", at(-40))}, [][2]float64{{-24, -20}}},
		"it was stopped, and started again":      {[]control.Step{own(-9, "stopped", time.Time{}), own(-6, "started", at(-9))}, [][2]float64{{-9, -6}}},
		"it crashed":                             {[]control.Step{own(-20, "config", time.Time{}), own(-6, "started", at(-8))}, [][2]float64{{-8, -6}}},
		"a restart cannot be seen":               {[]control.Step{own(-6.001, "stopped", time.Time{}), own(-6, "started", at(-6.001))}, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			for _, strip := range []Strip{Session(view.Session{}, nil, c.own, now), Account(control.Account{}, nil, nil, c.own, now)} {
				require.Len(t, strip.Away, len(c.want))
				for i, want := range c.want {
					require.Equal(t, Away, strip.Away[i].Kind)
					require.InDelta(t, want[0], strip.Away[i].From.Sub(now).Hours(), 0.0001)
					require.InDelta(t, want[1], strip.Away[i].To.Sub(now).Hours(), 0.0001)
				}
			}
		})
	}
}
