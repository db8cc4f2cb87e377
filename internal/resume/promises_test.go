package resume

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// An order does not count in a directory that the user has excluded since.
func TestARetryInAnExcludedDirectoryChangesNothing(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Auth))
	require.Equal(t, Parked, w.State)
	w.rules.Exclude = []string{"/src"}
	w.do(Retry{})
	require.Equal(t, Parked, w.State)
	require.True(t, w.RetryAskedAt.IsZero())
	require.Equal(t, w.rules.Excluded(w.Cwd), w.Reason)
}
