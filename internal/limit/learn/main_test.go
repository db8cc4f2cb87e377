package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The weights are what make learn makes of the examples.
func TestTheWeightsAreThoseOfTheExamples(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("../testdata")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "words"), 0o700))
	require.NoError(t, run(io.Discard, dir))
	want, err := os.ReadFile(filepath.Join(dir, "words", "weights.tsv"))
	require.NoError(t, err)
	got, err := os.ReadFile("../words/weights.tsv")
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "the examples have changed: run make learn")
}
