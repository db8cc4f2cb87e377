package webui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, SecretFile)
	read := func() string {
		secret, err := OpenSecret(dir)
		require.NoError(t, err)
		text, err := secret.now()
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(text), minSecret)
		require.Empty(t, strings.Trim(text, alphabet))
		return text
	}
	first := read()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, first, read(), "it stays")

	for name, spoil := range map[string]func() error{
		"one that others could read":   func() error { return os.Chmod(path, 0o644) },
		"one that browsers were given": func() error { return os.WriteFile(path, []byte(first[:26]+"\n"), 0o600) },
		"one that is cut off":          func() error { return os.WriteFile(path, []byte("ABC"), 0o600) },
		"an empty one":                 func() error { return os.Truncate(path, 0) },
		"none":                         func() error { return os.Remove(path) },
	} {
		t.Run(name+" is replaced", func(t *testing.T) {
			before := read()
			require.NoError(t, spoil())
			require.NotEqual(t, before, read())
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = OpenSecret(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "write the page's secret")
}
