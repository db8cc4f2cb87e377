package peek

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Stamp tells whether a database was written to: two that are equal say that it
// was not.
type Stamp struct{ main, wal FileStamp }

// FileStamp is the same for one file.
type FileStamp struct {
	Inode uint64
	Size  int64
	mod   time.Time
}

// StampOf returns the stamp of the database at path.
func StampOf(path string) (Stamp, error) {
	main, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	if !main.Mode().IsRegular() {
		return Stamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	s := Stamp{main: StampOfFile(main)}
	if wal, err := os.Stat(path + "-wal"); err == nil {
		s.wal = StampOfFile(wal)
	}
	return s, nil
}

// StampOfFile returns the stamp of one file.
func StampOfFile(info os.FileInfo) FileStamp {
	s := FileStamp{Size: info.Size(), mod: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode = sys.Ino
	}
	return s
}
