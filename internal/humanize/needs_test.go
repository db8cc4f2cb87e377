package humanize

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestWhatASessionNeedsAndWhy(t *testing.T) {
	for _, c := range []struct {
		view  view.Session
		need  Need
		cause string
	}{
		{view.Session{State: resume.GaveUp, Class: limit.RateLimit}, You, "rate limit"},
		{view.Session{State: resume.Parked, Class: limit.ContextOverflow, Paused: true}, You, limit.ContextOverflow.Title()},
		{view.Session{State: resume.Waiting, Class: limit.UsageLimit, Unreached: "it cannot be typed into"}, You, "cannot be reached"},
		{view.Session{State: resume.Waiting, Class: limit.UsageLimit}, Time, "usage limit"},
		{view.Session{State: resume.Waiting}, Time, "asked for by you"},
		{view.Session{State: resume.Waiting, Class: limit.UsageLimit, Paused: true}, Unpause, "usage limit"},
		{view.Session{State: resume.Settling, Class: limit.Network}, Trying, "no network"},
		{view.Session{State: resume.Watching, Class: limit.Network}, Nothing, ""},
		{view.Session{State: resume.Watching, Needs: new("permission")}, You, "asks for a permission"},
		{view.Session{State: resume.Parked, Class: limit.Auth, Needs: new("sign_in")}, You, limit.Auth.Title()},
		{view.Session{State: resume.Parked, Needs: new("what_comes_next")}, You, "what comes next"},
	} {
		require.Equal(t, c.need, Needs(c.view))
		require.Equal(t, c.cause, Cause(c.view))
	}
}

func TestFactsAsALine(t *testing.T) {
	utc(t)
	for want, f := range map[string]Fact{
		"mybot":                              {Text: "mybot"},
		"waiting, in 1h 0m, 14:13":           {Text: "waiting", At: new(noon.Add(time.Hour)), Until: true},
		"14:13:00, as the agent recorded it": {At: new(noon.Add(time.Hour)), After: ", as the agent recorded it"},
	} {
		require.Equal(t, want, f.Line(noon))
	}
	require.Empty(t, Undelivered("desktop", 0, 0, "an old one"))
	require.Equal(t, "notices by ops: 1 to be delivered, 0 failed", Undelivered("ops", 1, 0, ""))
}
