package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"resumed/internal/lines"
)

const longestSettings = 32 << 20

var errNoSettings = errors.New("it is not a regular file")

// ReadSettings reads no pipe and no endless file: any program may have put one there.
func ReadSettings(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not block
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

// ReadJSON parses such a file, and reports whether it could.
func ReadJSON(path string, into any) bool {
	data, err := ReadSettings(path)
	return err == nil && json.Unmarshal(data, into) == nil
}

// ReadRewritten is ReadJSON for a file that is rewritten often: it retries if that is half written.
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

// Settings caches parsed settings files until they change: thousands of sessions may share one.
type Settings[V any] struct{ files lines.Cache[settled[V]] }

type settled[V any] struct {
	info  os.FileInfo
	value V
	ok    bool
}

// afresh: two writes within one tick of the file system's clock have the same modification time.
const afresh = time.Second

// Read returns the parsed file, which is read again if its info has changed.
func (s *Settings[V]) Read(path string, parse func([]byte) (V, bool)) (value V, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return value, false
	}
	was, known := s.files.Get(path)
	if known && os.SameFile(was.info, info) && was.info.Size() == info.Size() && was.info.ModTime().Equal(info.ModTime()) {
		return was.value, was.ok
	}
	data, err := ReadSettings(path)
	if err != nil {
		return value, false
	}
	value, ok = parse(data)
	if time.Since(info.ModTime()) > afresh {
		s.files.Put(path, settled[V]{info, value, ok})
	}
	return value, ok
}
