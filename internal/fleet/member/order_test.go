package member

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Another host of a fleet orders what a person may order from afar: to spend money is not among it.
func TestNobodyElseMaySpend(t *testing.T) {
	_, err := readOrder([]byte(`{"session":"4f2a","order":"own_key"}`))
	require.ErrorContains(t, err, `"own_key" is not taken from another machine`)
}
