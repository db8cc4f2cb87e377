package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// Another host of a fleet orders what a person may order from afar: to spend money is not among it.
func TestNobodyElseMaySpend(t *testing.T) {
	_, err := new(backend).ordered(t.Context(), "4f2a", control.OwnKey)
	require.ErrorContains(t, err, `"own_key" is no order`)
}
