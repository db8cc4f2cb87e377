//go:build !linux

package watch

import (
	"io/fs"
	"os"
	"time"
)

// peek is a file that is open for a short look.
type peek struct{ file *os.File }

// peekAt opens the regular file at path, as open does, and says what it is. A path
// that does not name one is an error.
func peekAt(path string, what *looks) (peek, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotWatched // the mere opening of a FIFO wakes a writer
	}
	if err != nil {
		return peek{}, err
	}
	file, info, err := open(path)
	if err != nil {
		return peek{}, err
	}
	what.path, what.of = path, info
	return peek{file}, nil
}

// read fills room from an offset that the file reaches.
func (p peek) read(room []byte, offset int64) error { return readAt(p.file, room, offset) }

func (p peek) close() { _ = p.file.Close() }

// looks is what a regular file looks like from outside.
type looks struct {
	path string
	of   fs.FileInfo
	born time.Time // zero: it cannot be told
}

func (l *looks) stamp() stamp      { return stampOf(l.of) }
func (l *looks) info() fs.FileInfo { return l.of }

// stampIn returns how a file of an open directory looks; false where it is gone.
func stampIn(_ *os.File, e fs.DirEntry) (stamp, bool) {
	info, err := e.Info()
	if err != nil {
		return stamp{}, false
	}
	return stampOf(info), true
}
