package termui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// The output says what is not shown of a fleet, or cannot be.
func TestWhatIsLeftOutOfAFleetIsSaid(t *testing.T) {
	shown := Renderer{Now: time.Now(), Width: 100}.Fleet(control.Fleet{
		Next: "1", SessionsLeft: 3900, AccountsLeft: 12,
		Unreadable: []control.FleetUnreadable{{Name: "mallory\x1b[2J", Entries: 1}, {Name: "accounts", Entries: 2}},
	})
	for _, line := range []string{
		"… and 3900 more: resumed status --fleet --json lists them all\n", "… and 12 more accounts\n",
		"mallory: one entry could not be read\n", "accounts: 2 entries could not be read\n",
	} {
		require.Contains(t, shown, line)
	}
	require.NotContains(t, shown, "\x1b")
}

// The sessions of a fleet have a header and their projects, and those that need a person come first.
func TestAFleetIsShownLikeTheSessionsOfOneHost(t *testing.T) {
	utc(t)
	shown := Renderer{Now: noon, Width: 100}.Fleet(control.Fleet{Sessions: []control.FleetSession{
		{Host: "desk", Session: session("4f2a", resume.Waiting)},
		{Host: "laptop", Session: session("4f2a", resume.Waiting, func(v *view.Session) { v.Cwd = "/src/api" })},
		{Host: "laptop", Session: session("9c1d", resume.GaveUp, needs("retry"))},
	}})
	require.Contains(t, shown, `3 sessions: 1 needs you, 2 waiting; next in 1h 47m, 15:00

  SESSION      PROJECT  AGENT`)
	require.Contains(t, shown, "Gave up: usage limit (1)\n  to do: resumed retry laptop/9c1d\n  laptop/9c1d  shop")
	require.Contains(t, shown, "Waiting: usage limit (2)\n  desk/4f2a    shop")
	require.Contains(t, shown, "\n  laptop/4f2a  api ")
}
