package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// sight is what a look at the file showed. Equal sights mean that nothing
// changed.
type sight struct {
	state   sightState
	path    string
	content string // unreadable: why
}

type sightState uint8

const (
	absent sightState = iota + 1
	empty
	unreadable
	present
)

// vague reports whether somebody may be about to write the file.
func (s sightState) vague() bool { return s == absent || s == empty }

// look reads the first of the places where there is a file. The watches stand
// before it is read, so no change falls between.
func (w *watch) look() sight {
	w.follow()
	w.mark = fingerprintOf(w.places)
	for _, path := range w.places {
		info, err := os.Stat(path)
		switch {
		case err != nil && missing(err):
			continue
		case err == nil && !info.Mode().IsRegular():
			// A pipe would keep the watch waiting for ever.
			err = errors.New("is not a regular file")
		}
		var data []byte
		if err == nil {
			data, err = readFile(path)
		}
		switch {
		case err != nil && missing(err):
			continue
		case err != nil:
			if e, ok := errors.AsType[*fs.PathError](err); ok {
				err = e.Err
			}
			return sight{unreadable, path, err.Error()}
		case strings.TrimSpace(string(data)) == "":
			return sight{empty, path, string(data)}
		default:
			return sight{present, path, string(data)}
		}
	}
	return sight{state: absent}
}

// fingerprint tells whether a file may have changed, without reading it.
type fingerprint struct {
	path  string
	inode uint64
	size  int64
	mtime time.Time
}

func fingerprintOf(places []string) fingerprint {
	for _, path := range places {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		f := fingerprint{path: path, size: info.Size(), mtime: info.ModTime()}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			f.inode = s.Ino
		}
		return f
	}
	return fingerprint{}
}

// route is what lies on the way to a file.
type route struct {
	dirs  map[string]bool // to be watched
	names map[string]bool // in them, what the way leads through
}

func (r route) concerns(name string) bool { return r.names[name] || r.dirs[name] }

// mostLinks is how many symbolic links a way may have, as in the kernel.
const mostLinks = 40

// trace walks to path and notes what can turn the way elsewhere: the file
// itself, every symbolic link, and the first part that does not exist yet.
func (r route) trace(path string) {
	at, rest, links := "/", parts(path), 0
	for len(rest) > 0 {
		name := filepath.Join(at, rest[0])
		info, err := os.Lstat(name)
		if err != nil || len(rest) == 1 || info.Mode()&fs.ModeSymlink != 0 {
			r.dirs[at], r.names[name] = true, true
		}
		rest = rest[1:]
		switch {
		case err != nil:
			return
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if links++; err != nil || links > mostLinks {
				return
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(parts(target), rest...)
		default:
			at = name
		}
	}
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// follow watches the way to the file as it is now.
func (w *watch) follow() {
	r := route{map[string]bool{}, map[string]bool{}}
	for _, path := range w.places {
		r.trace(path)
	}
	w.route = r
	if w.notifier == nil {
		return
	}
	for _, dir := range w.notifier.WatchList() {
		if !r.dirs[dir] {
			_ = w.notifier.Remove(dir) // it may be gone already
		}
	}
	blind := false
	for dir := range r.dirs {
		// Again and again: the directory may be another one of the same name.
		if err := w.notifier.Add(dir); err != nil && !errors.Is(err, fsnotify.ErrClosed) {
			blind = true
			if !w.blind {
				w.log.Warn("configuration is polled because it cannot be watched", "dir", dir, "err", err)
			}
		}
	}
	w.blind = blind
}
