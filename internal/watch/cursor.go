package watch

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// headSize is how much of a file's beginning is part of its identity. An inode
// number is given away again as soon as its file is deleted, so it alone does
// not tell a file from its successor.
const headSize = 1 << 10

// Cursor is how far a file was read. The zero Cursor is of no file. Its Offset
// is always that of a line's first byte.
type Cursor struct {
	Dev    uint64 `json:"dev"`
	Inode  uint64 `json:"inode"`
	Gen    uint32 `json:"gen"`    // incarnations the path has had before this one
	Offset int64  `json:"offset"` // of the first byte that was not yet delivered
	Head   uint64 `json:"head"`   // fingerprint of the first bytes, Offset or 1 KiB of them
}

// IsZero says whether the cursor is of no file.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Epoch names one incarnation of a file. It changes when the file is replaced,
// and when it is truncated and written anew; not when it is renamed. The device
// is no part of it: its number may be another one after a reboot.
func (c Cursor) Epoch() string { return fmt.Sprintf("%x-%d", c.Inode, c.Gen) }

func (c Cursor) id() fileID { return fileID{c.Dev, c.Inode} }

// at returns the cursor moved to another offset of the same file.
func (c Cursor) at(offset int64, in io.ReaderAt) (Cursor, error) {
	if c.Offset < headSize {
		head, err := fingerprint(in, min(offset, headSize))
		if err != nil {
			return c, err
		}
		c.Head = head
	}
	c.Offset = offset
	return c, nil
}

// fits says whether in is still the incarnation that the cursor was made for:
// not shorter, of the same beginning, and with a line's end where one was.
func (c Cursor) fits(in io.ReaderAt, st stamp) (bool, error) {
	if c.Inode != st.id.inode || st.size < c.Offset {
		return false, nil
	}
	if c.Offset == 0 {
		return c.Dev == st.id.dev, nil
	}
	head, err := fingerprint(in, min(c.Offset, headSize))
	if err != nil || head != c.Head {
		return false, err
	}
	var last [1]byte
	if err := readAt(in, last[:], c.Offset-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}

func fingerprint(in io.ReaderAt, n int64) (uint64, error) {
	var head [headSize]byte
	if err := readAt(in, head[:n], 0); err != nil {
		return 0, err
	}
	h := fnv.New64a()
	h.Write(head[:n])
	return h.Sum64(), nil
}

// errShrunk ends the reading of a file that became shorter meanwhile. The event
// of that brings the next one.
var errShrunk = errors.New("file shrank while it was read")

// readAt fills room from an offset that the file reaches.
func readAt(in io.ReaderAt, room []byte, offset int64) error {
	_, err := in.ReadAt(room, offset)
	if errors.Is(err, io.EOF) {
		return errShrunk
	}
	return err
}

// fileID is a file, whatever its name.
type fileID struct{ dev, inode uint64 }

// stamp is a file's state as far as it shows from outside.
type stamp struct {
	id    fileID
	size  int64
	mtime time.Time
}

func stampOf(info fs.FileInfo) stamp {
	st := stamp{size: info.Size(), mtime: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st.id = fileID{uint64(sys.Dev), uint64(sys.Ino)} //nolint:unconvert // Dev is narrower elsewhere
	}
	return st
}

// open opens a regular file. The flags are for what the path may have become
// since it was looked at: a link is not followed, and a FIFO does not block.
func open(path string) (*os.File, stamp, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotWatched
	}
	if err != nil {
		in.Close()
		return nil, stamp{}, err
	}
	return in, stampOf(info), nil
}
