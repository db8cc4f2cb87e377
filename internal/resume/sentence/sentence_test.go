package sentence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// inOwnWords are the reasons that another room states.
var inOwnWords = []resume.Why{
	resume.WhyNotSent, resume.WhyDenied, resume.WhyUnknownOutcome, resume.WhyUnreachable, resume.WhyCannot,
}

// Each reason that there is has words, and no two have the same.
func TestEveryReasonHasWords(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "../reason.go", nil, 0)
	require.NoError(t, err)
	s := resume.Session{Key: resume.Key{Agent: "bot", ID: "4f2a"}, Interruption: resume.Interruption{
		Limit: limit.Verdict{Class: limit.UsageLimit}, LimitText: "try later", Asks: "permission: Bash", Owner: &resume.Owner{PID: 7},
	}, Subagents: []resume.Subagent{{ID: "a"}}}
	said := make(map[string]string)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		words := Why(s, resume.Reason{Kind: resume.Why(kind), By: "b", N: 3, Text: "why " + kind, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
		require.NotEmpty(t, words, kind)
		require.NotContains(t, words, "{", kind)
		require.Empty(t, said[words], "%s and %s: %s", kind, said[words], words)
		said[words] = kind
		if words == "why "+kind {
			require.Contains(t, inOwnWords, resume.Why(kind))
		}
		return true
	})
	require.Greater(t, len(said), 50)
}

func TestStoppedSubagentsAreNamed(t *testing.T) {
	stopped := []resume.Subagent{{About: "a", Class: limit.UsageLimit}, {About: "b"}, {About: "c"}, {About: "d"}, {About: "e", Class: limit.Overloaded}}
	require.Equal(t, "5 subagents were stopped by provider overloaded: a, b, c, 2 more", SubagentsStopped(stopped))
	require.NotContains(t, SubagentsStopped(stopped[:3]), "more")
	require.Equal(t, "1 subagent was stopped by usage limit: a", SubagentsStopped(stopped[:1]))
	require.Empty(t, SubagentsStopped(nil))
	for want, a := range map[string]resume.Subagent{
		"7": {ID: "7"}, "Explore": {ID: "7", Kind: "Explore"}, "look": {ID: "7", About: "look"}, "look (Explore)": {ID: "7", About: "look", Kind: "Explore"},
	} {
		require.Equal(t, want, named(a))
	}
}

func TestSmallWords(t *testing.T) {
	for n, want := range map[string]string{"7": "7", "999": "999", "1000": "1 000", "123456": "123 456", "1234567": "1 234 567"} {
		require.Equal(t, want, grouped(n))
	}
	require.Equal(t, "VS Code (process 7)", place(&resume.Owner{PID: 7, App: "VS Code"}))
	require.Equal(t, "its terminal (process 7)", place(&resume.Owner{PID: 7, Kind: resume.Interactive}))
	require.Equal(t, "process 7, which has no terminal", place(&resume.Owner{PID: 7, Kind: resume.Headless}))
	cut := limit.Verdict{Class: limit.CutOff}
	require.Equal(t, "was killed", describe(cut, "was killed"))
	require.Equal(t, limit.CutOff.Title(), describe(cut, ""))
	var s resume.Session
	s.Limit.Reset = limit.Reset{At: time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC), Source: limit.Structured}
	s.Reason = resume.Reason{Kind: resume.WhyOverdue, At: s.Limit.Reset.At.Add(6 * time.Hour)} // its hours began later
	require.Contains(t, Of(s), "it was to be resumed at 2026-11-15T09:00:00Z")
}

func TestTheLastFailureIsTheReason(t *testing.T) {
	const boom = "exit status 3: boom: cannot connect"
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	policy := backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Second, MaxDelay: time.Second, MaxRetries: 2}
	forHours := policy
	forHours.MaxRetries, forHours.MaxElapsed = 0, 12*time.Hour
	rules := resume.Rules{Backoff: policy, ByClass: map[limit.Class]resume.Policy{limit.Overloaded: {Policy: forHours}}}
	now := noon
	limited := func(class limit.Class) resume.Event {
		return resume.Limited{At: now, Verdict: limit.Verdict{Class: class, WaitHelps: class.Transient()}, Text: "try later"}
	}
	next := func(s resume.Session, events ...resume.Event) resume.Session {
		for _, ev := range events {
			s = s.Next(ev, rules, now, 0.5)
		}
		return s
	}
	fails := func(s resume.Session) resume.Session {
		now = resume.Later(now, s.NextAt)
		return next(s, resume.Due{Mark: "m"}, resume.Ended{Mark: "m", Outcome: resume.Failed, Err: boom})
	}
	s := next(resume.Session{}, limited(limit.UsageLimit))
	require.Equal(t, "usage limit: try later", Of(s))
	s = fails(s)
	require.Equal(t, boom+"; stopped by usage limit: try later", Of(s))
	now = s.NextAt
	resuming := next(s, resume.Due{Mark: "n"})
	require.Equal(t, Of(s), Of(resuming), "also while the next one runs")
	again := next(resuming, resume.Started{Mark: "n"}, limited(limit.UsageLimit))
	require.Equal(t, "usage limit, gave up after 2 resumes without progress: try later", Of(again), "another limit is the last failure then")
	s = fails(s)
	require.Equal(t, boom+"; gave up after 2 resumes without progress; stopped by usage limit: try later", Of(s))
	require.Equal(t, "due now, asked for by you", Of(next(s, resume.Retry{})))

	s = fails(fails(next(resume.Session{}, limited(limit.Overloaded))))
	require.Regexp(t, "^"+boom+"; still tried after 2 resumes, until .*; stopped by provider overloaded: try later$", Of(s))
	s = fails(next(resume.Session{}, resume.Limited{At: now, Verdict: limit.Verdict{Class: limit.CutOff, WaitHelps: true}, Text: "was killed"}))
	require.Equal(t, boom+"; was killed", Of(s))
	require.Equal(t, "sign-in needed, waiting does not help: try later", Of(next(resume.Session{}, limited(limit.Auth))))
}
