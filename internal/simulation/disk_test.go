package simulation

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// image returns a directory with what is on the disk now: what was queued is lost.
// Torn is a disk that was being written to: of what was being written any part is
// there.
func (l *life) image(torn bool) string {
	dir := filepath.Join(l.home, fmt.Sprint("life-", l.counts.lives+1))
	require.NoError(l.t, os.Mkdir(dir, 0o700))
	log := filepath.Join(l.dir, "resumed.db-wal")
	end := size(log)
	if torn {
		_ = l.store.Sync(context.Background())
		if now := size(log); now > end {
			end += l.dice.Int64N(now - end + 1)
		} else {
			end = now
		}
	}
	l.copy(filepath.Join(l.dir, "resumed.db"), dir, -1)
	l.copy(log, dir, end)
	return dir
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// copy copies the beginning of a file; all of it where n is less than 0.
func (l *life) copy(path, dir string, n int64) {
	from, err := os.Open(path)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(l.t, err)
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, filepath.Base(path)), os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(l.t, err)
	defer to.Close()
	var reader io.Reader = from
	if n >= 0 {
		reader = io.LimitReader(from, n)
	}
	_, err = io.Copy(to, reader)
	require.NoError(l.t, err)
}

func (w *world) discard(dir string) { require.NoError(w.t, os.RemoveAll(dir)) }
