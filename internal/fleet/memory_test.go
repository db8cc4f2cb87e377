package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/fleettest"
)

func TestMemoryIsAStore(t *testing.T) { fleettest.Store(t, fleet.NewMemory(time.Now)) }

func TestALeaseThatIsNotRenewedIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fleet.NewMemory(time.Now)
		changes, err := m.Watch(t.Context())
		require.NoError(t, err)
		rev, err := m.Update(t.Context(), fleet.Accounts, "a", nil, 0, fleet.LeaseTTL)
		require.NoError(t, err)
		require.False(t, (<-changes).Gone)
		time.Sleep(fleet.LeaseTTL - time.Second)
		rev, err = m.Update(t.Context(), fleet.Accounts, "a", nil, rev, fleet.LeaseTTL)
		require.NoError(t, err)
		require.False(t, (<-changes).Gone)
		time.Sleep(fleet.LeaseTTL)
		_, err = m.Update(t.Context(), fleet.Accounts, "a", nil, rev, fleet.LeaseTTL)
		require.ErrorIs(t, err, fleet.ErrConflict, "a stale holder is refused")
		require.True(t, (<-changes).Gone)
	})
}
