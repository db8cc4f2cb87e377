package watch

import (
	"os"
	"runtime"
	"sync"
	"syscall"
)

// descriptors counts the files that are kept open for events. Linux needs none for
// that. kqueue, of macOS and the BSDs, keeps each file of a watched directory open: with
// thousands of transcripts nothing would be left for all else that the daemon opens, so
// that directories beyond a bound are looked at by the clock.
type descriptors struct {
	most int // 0: events cost none

	mu   sync.Mutex     // guards what follows
	held map[string]int // by directory
	sum  int
}

// allDescriptors are those of this process.
var allDescriptors = sync.OnceValue(func() *descriptors {
	var bound syscall.Rlimit
	if runtime.GOOS == "linux" || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &bound) != nil {
		return &descriptors{}
	}
	// Go has raised it to what the system allows. Half of it is for all else.
	return &descriptors{most: int(min(uint64(bound.Cur), 1<<20) / 2)}
})

// take reports whether a directory can be watched, and counts what that costs. One that
// has grown is counted anew.
func (d *descriptors) take(dir string) bool {
	if d.most == 0 {
		return true
	}
	names, _ := os.ReadDir(dir) // one that cannot be read is not watched either
	cost := 1 + len(names)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sum-d.held[dir]+cost > d.most {
		return false
	}
	if d.held == nil {
		d.held = make(map[string]int)
	}
	d.sum += cost - d.held[dir]
	d.held[dir] = cost
	return true
}

// leave counts a directory no more.
func (d *descriptors) leave(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sum -= d.held[dir]
	delete(d.held, dir)
}
