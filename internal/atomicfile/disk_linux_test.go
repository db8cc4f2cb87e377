package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// After a power cut, a name that leads to an empty file would be worse than the old content.
func TestWhatIsWrittenIsOnDiskAndNotInMemoryAlone(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	require.NoError(t, err)
	defer plain.Close()
	_, err = plain.WriteString("new")
	require.NoError(t, err)
	before := waiting(t, plain.Name())
	require.NoError(t, plain.Sync())
	if before == 0 || waiting(t, plain.Name()) != 0 {
		t.Skip("NOT TESTED: this file system does not tell what it has not written yet")
	}

	path := filepath.Join(dir, "file")
	require.NoError(t, Write(path, []byte("new"), 0o600))
	require.Zero(t, waiting(t, path))
}

// waiting returns how many pages of a file the kernel has not written to disk yet.
func waiting(t *testing.T, path string) uint64 {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var pages unix.Cachestat_t
	if err := unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{}, &pages, 0); err != nil {
		t.Skip("NOT TESTED: this kernel does not tell what it has not written yet: ", err)
	}
	return pages.Dirty + pages.Writeback
}
