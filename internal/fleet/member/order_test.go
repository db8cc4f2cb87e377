package member

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Another host may give the orders that a person may give remotely: spending money is not one of them.
func TestNobodyElseMaySpend(t *testing.T) {
	_, err := readOrder([]byte(`{"session":"4f2a","order":"own_key"}`))
	require.ErrorContains(t, err, `"own_key" is not taken from another machine`)
}
