package hub

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// Whichever stored file is damaged, the hub starts again: all of them can be created again.
func TestAHubStartsWithDamagedFiles(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	hub := serve(t, Options{Dir: dir})
	host := member(t, invitation, "box")
	box := open(t, host)
	_, err := box.Update(t.Context(), fleet.Accounts, "a.x", []byte("kept"), 0, 0)
	require.NoError(t, err)
	_, err = box.Publish(t.Context(), "box", "1", []byte("{}"))
	require.NoError(t, err)
	tellOne(t, box)
	hub.stop()

	var files []string
	data := filepath.Join(dir, dataDir)
	require.NoError(t, filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	require.NotEmpty(t, files)
	intact := t.TempDir()
	require.NoError(t, os.CopyFS(intact, os.DirFS(data)))
	for _, file := range files {
		name, err := filepath.Rel(data, file)
		require.NoError(t, err)
		for how, damage := range map[string]func(text []byte) []byte{
			"cut":     func(text []byte) []byte { return text[:len(text)/2] },
			"empty":   func([]byte) []byte { return nil },
			"flipped": flipped,
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				require.NoError(t, os.RemoveAll(data))
				require.NoError(t, os.CopyFS(data, os.DirFS(intact)))
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, damage(text), 0o600))
				hub := serve(t, Options{Dir: dir})
				defer hub.stop()
				box := open(t, host)
				_, err = box.Update(t.Context(), fleet.Accounts, "b.x", []byte("x"), 0, 0)
				require.NoError(t, err)
				_, err = box.Publish(t.Context(), "box", "2", []byte("{}"))
				require.NoError(t, err)
				tellOne(t, box)
			})
		}
	}
}

// tellOne takes one notice and acknowledges it.
func tellOne(t *testing.T, s *natskv.Store) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	err := s.Notices(ctx, func(context.Context, fleet.Notice) error {
		stop()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled, "there was one")
}

// flipped returns a text of the same length in which every byte differs.
func flipped(text []byte) []byte {
	other := make([]byte, len(text))
	for i, b := range text {
		other[i] = ^b
	}
	return other
}
