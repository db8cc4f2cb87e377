package opencode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestADenialThatEndedTheTurnIsFound(t *testing.T) {
	t.Parallel()
	const session = "ses_e237396feffepj9PDLR6ibzFGU"
	ended := time.UnixMilli(1794701557917)
	began := ended.Add(-time.Minute)
	cases := map[string]struct {
		since time.Time
		more  func(*store)
		want  bool
	}{
		"the last thing":    {began, func(*store) {}, true},
		"of an earlier run": {ended.Add(time.Minute), func(*store) {}, false},
		"followed by words alone": {began, func(s *store) {
			s.assistant("msg_2", session, ended.Add(time.Second), `,"finish":"stop"`)
		}, true},
		"gone around": {began, func(s *store) {
			s.assistant("msg_2", session, ended.Add(time.Second), `,"finish":"tool-calls"`)
			s.insert("part", map[string]any{
				"id": "prt_2", "message_id": "msg_2", "session_id": session, "time_created": 1, "time_updated": 1,
				"data": `{"type":"tool","tool":"read","state":{"status":"completed"}}`,
			})
		}, false},
		"a limit was met after it": {began, func(s *store) {
			s.assistant("msg_2", session, ended.Add(time.Second), refused(5))
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, agent.Options{})
			s := newStore(t, a.homes.Roots[0])
			s.add(loadRows(t, "db/run_permission_rejected.json"))
			c.more(s)
			got, found, err := a.Denied(t.Context(), resume.Session{
				Key: resume.Key{Agent: Name, ID: session}, Transcript: s.path,
			}, agent.Ran{Since: c.since})
			require.NoError(t, err)
			require.Equal(t, c.want, found)
			if found {
				require.Equal(t, agent.Denial{Tool: "bash", Use: "echo tool-ran >> tool.log; pwd"}, got)
			}
		})
	}
}
