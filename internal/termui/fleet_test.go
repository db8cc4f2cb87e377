package termui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// The output says what is not shown of a fleet, or cannot be.
func TestWhatIsLeftOutOfAFleetIsSaid(t *testing.T) {
	shown := Page{Now: time.Now(), Width: 100}.Fleet(control.Fleet{
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
