package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// peek is a file that is open for a short look. There may be a hundred thousand such
// looks at a start: os.File would ask the poller for each, and leave one more thing to
// be collected.
type peek struct{ fd int }

// peekAt opens the regular file at path, as open does, and says what it is. A path
// that does not name one is an error.
func peekAt(path string, what *looks) (peek, error) {
	p := peek{-1}
	err := retried(func() (err error) {
		p.fd, err = syscall.Open(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return peek{}, err
	}
	if err := what.ask(p.fd); err != nil {
		p.close()
		return peek{}, err
	}
	if what.stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		p.close()
		return peek{}, ErrNotWatched
	}
	what.path = path
	return p, nil
}

// ask asks the kernel for all of it at once, and where it knows no such question, for what it
// does know.
func (l *looks) ask(fd int) error {
	var all unix.Statx_t
	const wanted = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	err := retried(func() error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, wanted, &all) })
	if err != nil || all.Mask&unix.STATX_BASIC_STATS != unix.STATX_BASIC_STATS {
		return retried(func() error { return syscall.Fstat(fd, &l.stat) })
	}
	st := &l.stat
	st.Ino, st.Size, st.Blocks, st.Mode, st.Uid, st.Gid = all.Ino, int64(all.Size), int64(all.Blocks), uint32(all.Mode), all.Uid, all.Gid
	st.Atim, st.Mtim, st.Ctim = moment(all.Atime), moment(all.Mtime), moment(all.Ctime)
	assign(&st.Dev, unix.Mkdev(all.Dev_major, all.Dev_minor))
	assign(&st.Nlink, uint64(all.Nlink))
	assign(&st.Blksize, uint64(all.Blksize))
	if all.Mask&unix.STATX_BTIME != 0 {
		l.born = time.Unix(all.Btime.Sec, int64(all.Btime.Nsec)).UTC()
	}
	return nil
}

// assign sets a number that is narrower on some machines.
func assign[T uint32 | uint64 | int32 | int64](to *T, n uint64) { *to = T(n) }

func moment(t unix.StatxTimestamp) syscall.Timespec {
	return syscall.NsecToTimespec(t.Sec*1e9 + int64(t.Nsec))
}

// read fills room from an offset that the file reaches.
func (p peek) read(room []byte, offset int64) error {
	for len(room) > 0 {
		n, err := syscall.Pread(p.fd, room, offset)
		switch {
		case err == syscall.EINTR: //nolint:errorlint // a system call returns no other kind
			continue
		case err != nil:
			return err
		case n == 0:
			return errShrunk
		}
		room, offset = room[n:], offset+int64(n)
	}
	return nil
}

func (p peek) close() { _ = syscall.Close(p.fd) }

func retried(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR { //nolint:errorlint // a system call returns no other kind
			return err
		}
	}
}

// looks is what a regular file looks like from outside.
type looks struct {
	path string
	stat syscall.Stat_t
	born time.Time // zero: it cannot be told
}

func (l *looks) stamp() stamp {
	return stamp{id: fileID{uint64(l.stat.Dev), l.stat.Ino}, size: l.stat.Size, mtime: l.stat.Mtim.Nano()} //nolint:unconvert // Dev is narrower elsewhere
}

func (l *looks) info() fs.FileInfo { return l }

// Name, Size, Mode, ModTime, IsDir and Sys make it what os.Stat would return.
func (l *looks) Name() string       { return filepath.Base(l.path) }
func (l *looks) Size() int64        { return l.stat.Size }
func (l *looks) Mode() fs.FileMode  { return fs.FileMode(l.stat.Mode & 0o777) }
func (l *looks) ModTime() time.Time { return time.Unix(l.stat.Mtim.Unix()) }
func (l *looks) IsDir() bool        { return false }
func (l *looks) Sys() any           { return &l.stat }

// stampIn returns how a file of an open directory looks; false where it is gone.
func stampIn(dir *os.File, e fs.DirEntry) (stamp, bool) {
	var st unix.Stat_t
	err := retried(func() error { return unix.Fstatat(int(dir.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) })
	return stamp{id: fileID{uint64(st.Dev), st.Ino}, size: st.Size, mtime: st.Mtim.Nano()}, err == nil //nolint:unconvert // Dev is narrower elsewhere
}
