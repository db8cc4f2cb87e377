package watch

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// headSize is how much of a file's beginning is part of its identity. An inode
// number is used again as soon as its file is deleted, so it does not identify
// a file alone.
const headSize = 1 << 10

// Cursor is how far a file was read. Its Offset is always that of a line's first
// byte. The zero Cursor belongs to no file.
type Cursor struct {
	Dev    uint64 `json:"dev"`
	Inode  uint64 `json:"inode"`
	Gen    uint32 `json:"gen"`    // how often the path got new content before
	Offset int64  `json:"offset"` // of the first byte that was not yet delivered
	Head   uint64 `json:"head"`   // fingerprint of the first bytes, Offset or 1 KiB of them

	// Size and Changed are the file's when all of it had been read; 0: not known. A
	// file that still has both is not opened.
	Size    int64 `json:"size,omitempty"`
	Changed int64 `json:"changed,omitempty"` // nanoseconds since 1970
}

// IsZero says whether the cursor belongs to no file.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Epoch names the content of a file. It changes when the file is replaced, or truncated
// and written again; not when it is renamed. The number of the device is not part of it:
// it may change with a reboot.
func (c Cursor) Epoch() string {
	name := append(strconv.AppendUint(make([]byte, 0, 32), c.Inode, 16), '-')
	return string(strconv.AppendUint(name, uint64(c.Gen), 10))
}

func (c Cursor) id() fileID { return fileID{c.Dev, c.Inode} }

func (c Cursor) at(offset int64, in io.ReaderAt, room *[headSize]byte) (Cursor, error) {
	if c.Offset < headSize {
		head := room[:min(offset, headSize)]
		if err := readAt(in, head, 0); err != nil {
			return c, err
		}
		c.Head = fingerprint(head)
	}
	c.Offset = offset
	return c, nil
}

// noting returns the cursor with the file's size and time, if all of it was read.
func (c Cursor) noting(st stamp) Cursor {
	if c.Size, c.Changed = 0, 0; c.Offset == st.size {
		c.Size, c.Changed = st.size, st.mtime
	}
	return c
}

// fits says whether in still has the content that the cursor was made for: not shorter,
// the same beginning, and the end of a line just before the offset.
func (c Cursor) fits(in io.ReaderAt, st stamp, room *[headSize]byte) (bool, error) {
	if c.Inode != st.id.inode || c.Offset < 0 || st.size < c.Offset {
		return false, nil
	}
	if c.Offset == 0 {
		return c.Dev == st.id.dev, nil
	}
	head := room[:min(c.Offset, headSize)]
	if err := readAt(in, head, 0); err != nil || fingerprint(head) != c.Head {
		return false, err
	}
	last := room[:1]
	if err := readAt(in, last, c.Offset-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}

// allRead says whether the file has not changed since all of it was read.
func (c Cursor) allRead(st stamp) bool {
	return c.Size > 0 && c.Offset == c.Size && c.Inode == st.id.inode && c.Size == st.size && c.Changed == st.mtime
}

func fingerprint(head []byte) uint64 {
	h := fnv.New64a()
	h.Write(head)
	return h.Sum64()
}

// errShrunk ends the reading of a file. The event of that change starts the next reading.
var errShrunk = errors.New("file shrank while it was read")

func readAt(in io.ReaderAt, room []byte, offset int64) error {
	_, err := in.ReadAt(room, offset)
	if errors.Is(err, io.EOF) {
		return errShrunk
	}
	return err
}

// fileID identifies a file independent of its name.
type fileID struct{ dev, inode uint64 }

// stamp is what a file looks like without opening it.
type stamp struct {
	id    fileID
	size  int64
	mtime int64 // nanoseconds since 1970
}

func stampOf(info fs.FileInfo) stamp {
	st := stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st.id = fileID{uint64(sys.Dev), uint64(sys.Ino)} //nolint:unconvert // Dev is narrower elsewhere
	}
	return st
}

// open opens a regular file. The flags are for what the path may have become
// since it was looked at: a link is not followed, and a FIFO does not block.
func open(path string) (*os.File, fs.FileInfo, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotWatched
	}
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, info, nil
}
