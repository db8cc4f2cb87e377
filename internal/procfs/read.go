package procfs

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// pages are buffers for reading files of the kernel: most files fit into one.
var pages = sync.Pool{New: func() any { return new([4096]byte) }}

// read returns the content of a file of the kernel. Such a file never blocks, so it does not need
// the poller that os.ReadFile uses: that takes eleven system calls instead of four, and there
// are hundreds of processes to read.
func read(path string) ([]byte, error) {
	fd, err := patiently(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written
	page := pages.Get().(*[4096]byte)
	defer pages.Put(page)
	var text []byte
	for {
		n, err := patiently(func() (int, error) { return syscall.Read(fd, page[:]) })
		switch {
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return text, nil
		}
		text = append(text, page[:n]...)
	}
}

// patiently repeats a system call that a signal interrupted.
func patiently(ask func() (int, error)) (n int, err error) {
	for n, err = ask(); errors.Is(err, syscall.EINTR); n, err = ask() {
	}
	return n, err
}
