package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// longestSettings is more than any agent writes about itself.
const longestSettings = 32 << 20

var errNoSettings = errors.New("it is not a regular file")

// ReadSettings reads a file that an agent keeps for itself or finds in a project. Any program that can
// write there can put a pipe in its place, which would be waited for without an end, or a file
// without one.
func ReadSettings(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe opens at once
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w", path, errNoSettings)
	case info.Size() > longestSettings:
		return nil, fmt.Errorf("read %s: it has more than %d bytes", path, longestSettings)
	}
	return io.ReadAll(io.LimitReader(file, longestSettings))
}

// ReadJSON reads such a file into a value, and reports whether it could.
func ReadJSON(path string, into any) bool {
	data, err := ReadSettings(path)
	return err == nil && json.Unmarshal(data, into) == nil
}

// ReadRewritten is ReadJSON of a file that is written all the time: it is tried again where it
// is there and half written.
func ReadRewritten(path string, into any) bool {
	for range 3 {
		data, err := ReadSettings(path)
		if err != nil {
			return false
		}
		if json.Unmarshal(data, into) == nil {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// Settings remembers what was read in files that an agent keeps for itself, for as long as
// they look as they did: thousands of sessions may have one of them in common. The zero
// Settings remembers nothing.
type Settings[V any] struct {
	mu     sync.Mutex
	byPath map[string]settled[V] // guarded by mu
}

// settled is what a file said, and how it looked then.
type settled[V any] struct {
	info  os.FileInfo
	value V
	ok    bool
}

// afresh is how old a file must be that may be known by its look: what is written within
// one tick of the clock of a file system bears one time.
const afresh = time.Second

// Read returns what parse makes of the file, which is read where it does not look as it did. Of
// one that cannot be read nothing is known.
func (s *Settings[V]) Read(path string, parse func([]byte) (V, bool)) (value V, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return value, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, known := s.byPath[path]; known && os.SameFile(was.info, info) && was.info.Size() == info.Size() && was.info.ModTime().Equal(info.ModTime()) {
		return was.value, was.ok
	}
	data, err := ReadSettings(path)
	if err != nil {
		return value, false
	}
	value, ok = parse(data)
	if time.Since(info.ModTime()) > afresh {
		if s.byPath == nil {
			s.byPath = make(map[string]settled[V])
		}
		s.byPath[path] = settled[V]{info, value, ok} // of homes, which are few
	}
	return value, ok
}
