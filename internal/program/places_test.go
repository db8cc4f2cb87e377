package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNewestNodeComesFirst(t *testing.T) {
	require.Negative(t, newestFirst("/n/v22.3.0/bin", "/n/v9.11.2/bin"))
	require.Positive(t, newestFirst("/n/v20.9.0/bin", "/n/v20.10.0/bin"))
}
