package agenttest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Object is a record of a transcript.
type Object = map[string]any

// Began is when the sessions of scenes began.
var Began = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)

// Described returns a function that makes the agent of a description, as Alone does.
func Described(is agent.Description) func(t testing.TB, roots ...string) *agent.Described {
	return func(t testing.TB, roots ...string) *agent.Described {
		t.Helper()
		return Alone(t, is.New, func(a *agent.Described, seen process.Table) { a.Processes = seen }, roots)
	}
}

// Means is a record of a transcript, and the event that it means; nil: none.
type Means [2]any

// Meanings checks what lines of the file at path mean. All are about the same session; "": it is not checked.
func Meanings(t *testing.T, a agent.FileAgent, path, session string, table map[string]Means) {
	t.Helper()
	for rule, c := range table {
		t.Run(rule, func(t *testing.T) {
			data, err := json.Marshal(c[0])
			require.NoError(t, err)
			s, ok := a.Observe(agent.Source{}, lines.Line{Path: path, Data: data})
			require.Equal(t, c[1] != nil, ok)
			require.Equal(t, c[1], any(s.Event))
			if ok && session != "" {
				require.Equal(t, session, s.Key.ID)
			}
		})
	}
}

// Weighs checks the size of the context that the last answer of a captured transcript states.
func Weighs(t *testing.T, a agent.Agent, transcript string, tokens int64, day time.Time) {
	t.Helper()
	got, known, err := a.ContextSize(t.Context(), resume.Session{Transcript: transcript})
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, tokens, got.Tokens)
	require.Zero(t, got.Warm, "how long it is kept is not known")
	require.WithinDuration(t, day, got.At, 24*time.Hour)
}

// Denials checks which denial in testdata/denied.jsonl counts: not one before the run, before another tool (worked),
// or before a limit.
func Denials(t *testing.T, a agent.Agent, began time.Time, worked, limit string, want agent.Denial) {
	t.Helper()
	for name, c := range map[string]struct {
		since time.Time
		more  []string
		want  bool
	}{
		"the last thing":           {began, nil, true},
		"of an earlier run":        {began.Add(time.Hour), nil, false},
		"gone around":              {began, []string{worked}, false},
		"a limit was met after it": {began, []string{limit}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := Denied(t, a, "denied.jsonl", c.since, "", c.more...)
			require.Equal(t, c.want, found)
			if found {
				require.Equal(t, want.String(), got.String())
			}
		})
	}
}

// WentOn checks that a session is left alone after one of these records, for the reason that is their key.
func WentOn(t *testing.T, newScene func() *Scene[*agent.Described], records map[string]any) {
	t.Helper()
	for why, record := range records {
		sc := newScene()
		sc.Write(t, record)
		sc.MustLeave(t, why, false)
	}
}

// AnotherHome checks that a run of a session in another home gets its name in a variable, and that each home is an
// account.
func AnotherHome(t *testing.T, sc *Scene[*agent.Described], is agent.Description, variable string) {
	t.Helper()
	home, work := sc.MoveHome(t)
	sc.Agent = Described(is)(t, home, work)
	require.Equal(t, []string{variable + "=" + work}, sc.Plan(t, "continue").Run.Env)
	require.Equal(t, is.Name+":default", sc.Agent.Sources()[0].Account)
	require.Equal(t, is.Name+":"+work, sc.Agent.Sources()[1].Account)
}
