package account

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/usage"
)

func TestTheStatusLineTellsTheAllowances(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	session, all := StatusLine([]byte(`{"hook_event_name":"Status","session_id":"4f2a","transcript_path":"/x","model":{"id":"m"},`+
		`"context_window":{"used_percentage":8},"rate_limits":{"five_hour":{"used_percentage":71.5,"resets_at":1794758400},"seven_day":{"used_percentage":41,"resets_at":1795190400}}}`), now)
	require.Equal(t, "4f2a", session)
	require.ElementsMatch(t, []usage.Reading{
		{Kind: "five_hour", Length: 5 * time.Hour, Used: 71.5, ResetsAt: time.Unix(1794758400, 0).UTC(), At: now},
		{Kind: "seven_day", Length: 168 * time.Hour, Used: 41, ResetsAt: time.Unix(1795190400, 0).UTC(), At: now},
	}, all)

	session, all = StatusLine([]byte(`{"session_id":"4f2a"}`), now)
	require.Equal(t, "4f2a", session)
	require.Empty(t, all, "with an API key there are none")
	session, all = StatusLine([]byte(`nonsense`), now)
	require.Empty(t, session)
	require.Empty(t, all)
}
