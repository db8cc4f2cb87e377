package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// child writes the rollout of a thread, and returns its path.
func child(t *testing.T, home, id, head string, at time.Time, payloads ...string) string {
	t.Helper()
	var text strings.Builder
	for i, payload := range append([]string{fmt.Sprintf(`{"id":%q,"cli_version":"0.166.0","cwd":"/src",%s}`, id, head)}, payloads...) {
		kind := "event_msg"
		if i == 0 {
			kind = "session_meta"
		}
		fmt.Fprintf(&text, `{"timestamp":%q,"ordinal":%d,"type":%q,"payload":%s}`+"\n", at.UTC().Format(time.RFC3339Nano), i, kind, payload)
	}
	path := filepath.Join(home, "sessions", at.Format("2006/01/02"), "rollout-"+id+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

func TestStoppedSubagents(t *testing.T) {
	const (
		begins  = `{"type":"task_started"}`
		refused = `{"type":"task_complete","error":{"message":"You’ve hit your usage limit. Try again later.","codex_error_info":"usage_limit_exceeded"}}`
		broken  = `{"type":"task_complete","error":{"message":"bad","codex_error_info":"bad_request"}}`
		ends    = `{"type":"task_complete","last_agent_message":"Done."}`
		mine    = `"parent_thread_id":"p","agent_role":"explorer","agent_nickname":"Ada"`
	)
	home, now := filepath.Join(t.TempDir(), "[x]"), time.Now() // a name, not a pattern
	a := newAgent(t, Options{Roots: []string{home}})
	s := resume.Session{Key: resume.Key{Agent: Name, ID: "p"}, Transcript: child(t, home, "p", `"source":"cli"`, now, begins), PromptedAt: now.Add(-time.Hour)}
	stopped := child(t, home, "stopped", mine, now, begins, refused)
	child(t, home, "spawned", `"source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}`, now.Add(-time.Second), begins, refused)
	child(t, home, "works", mine, now, begins, refused, begins)
	child(t, home, "done", mine, now, begins, ends)
	child(t, home, "broken", mine, now, begins, broken)
	child(t, home, "before", mine, now.Add(-2*time.Hour), begins, refused)
	child(t, home, "other", `"parent_thread_id":"q"`, now, begins, refused)

	found, err := a.Subagents(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "spawned", found[0].ID)
	require.Equal(t, resume.Subagent{ID: "stopped", Kind: "explorer", About: "Ada", Class: limit.UsageLimit, At: found[1].At}, found[1])
	require.WithinDuration(t, now, found[1].At, time.Second)

	var seen []resume.Observation
	require.NoError(t, lines.Back(t.Context(), stopped, func(line lines.Line) bool {
		if o, ok := a.Observe(a.Sources()[0], line); ok {
			seen = append(seen, o)
		}
		return true
	}))
	require.Len(t, seen, 1, "only its end is told to its parent")
	require.Equal(t, "p", seen[0].Key.ID)
	require.IsType(t, resume.SubagentEnded{}, seen[0].Event)

	day, err := os.Stat(filepath.Dir(stopped))
	require.NoError(t, err)
	child(t, home, "later", mine, now, begins, refused)
	require.NoError(t, os.Chtimes(filepath.Dir(stopped), day.ModTime(), day.ModTime()))
	found, err = a.Subagents(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, found, 3, "one that began meanwhile, in the same tick of the clock")

	began := filepath.Join(home, "sessions", now.AddDate(0, 0, -5).Format("2006/01/02"), filepath.Base(stopped))
	require.NoError(t, os.MkdirAll(filepath.Dir(began), 0o700))
	require.NoError(t, os.Rename(stopped, began))
	found, err = a.Subagents(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, found, 3, "one that began long before the current work, and was stopped in it")
}

func TestTheToolThatWasInterrupted(t *testing.T) {
	const call, result = `{"type":"function_call","call_id":%q,"name":%q}`, `{"type":"function_call_output","call_id":%q,"output":"ok"}`
	one, two := said(fmt.Sprintf(call, "1", "shell")), said(fmt.Sprintf(call, "2", "apply_patch"))
	done1, done2 := said(fmt.Sprintf(result, "1")), said(fmt.Sprintf(result, "2"))
	begun, limited := event(`{"type":"task_started"}`), failed(`"usage_limit_exceeded"`, "limit")
	for name, c := range map[string]struct {
		records []string
		want    string
		ours    bool // the last turn
	}{
		"it runs":                     {[]string{begun, one}, "shell", false},
		"it has its result":           {[]string{begun, one, done1}, "", false},
		"the first of two":            {[]string{begun, one, two, done2}, "shell", false},
		"the second of two":           {[]string{begun, one, two, done1}, "apply_patch", false},
		"of an earlier turn":          {[]string{begun, one, begun}, "", false},
		"before a resume that failed": {[]string{begun, one, begun, limited}, "shell", true},
		"before a resume that worked": {[]string{begun, one, begun, two, done2, limited}, "", true},
		"one that has no results":     {[]string{begun, said(`{"type":"web_search_call"}`)}, "", false},
		"before it met a limit":       {[]string{begun, one, limited}, "shell", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rollout-x.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(c.records, "\n")+"\n"), 0o600))
			s := resume.Session{Transcript: path}
			if c.ours {
				s.Attempts = []resume.Attempt{{StartedAt: written, EndedAt: written}}
			}
			require.Equal(t, c.want, newAgent(t, Options{}).OpenTool(t.Context(), s))
		})
	}
}
