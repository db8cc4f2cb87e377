package sqliteread

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Stamp shows whether a database was written to: if two stamps are equal, it was not.
//
// A writer first writes its log, which may take long to reach the disk, and only then makes it visible
// to readers, in the log's index: so the index is part of the stamp.
type Stamp struct {
	main, wal fileStamp
	index     [indexHeader]byte
}

// indexHeader is the part of a log's index that every commit changes.
const indexHeader = 48

// fileStamp is a stamp of one file.
type fileStamp struct {
	inode uint64
	size  int64
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
	s := Stamp{main: stampOfFile(main)}
	if wal, err := os.Stat(path + "-wal"); err == nil {
		s.wal = stampOfFile(wal)
	}
	return s, s.readIndex(path + "-shm")
}

// readIndex reads the header that readers of a log use. Without an index, no log is written, or no
// reader can see it.
func (s *Stamp) readIndex(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadFull(file, s.index[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // it was just created
	}
	return err
}

func stampOfFile(info os.FileInfo) fileStamp {
	s := fileStamp{size: info.Size(), mod: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}
