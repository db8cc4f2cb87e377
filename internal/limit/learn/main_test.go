package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The weights are what make learn makes of the examples.
func TestTheWeightsAreThoseOfTheExamples(t *testing.T) {
	bySource, err := read("../testdata")
	require.NoError(t, err)
	got, err := os.ReadFile("../words/weights.tsv")
	require.NoError(t, err)
	require.True(t, train(flat(bySource)).Format() == string(got), "the examples have changed: run make learn")
}
