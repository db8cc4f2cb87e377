package watch

import (
	"os"
	"runtime"
	"sync"
	"syscall"
)

// descriptors counts the files that are kept open for events. Linux needs none. kqueue (macOS
// and the BSDs) keeps each file of a watched directory open: thousands of transcripts would leave no
// descriptors for the rest of the daemon, so directories beyond a bound are only rescanned.
type descriptors struct {
	most int // 0: events cost none

	mu   sync.Mutex     // guards what follows
	held map[string]int // by directory
	sum  int
}

// allDescriptors is the count of this process.
var allDescriptors = sync.OnceValue(func() *descriptors {
	var bound syscall.Rlimit
	if runtime.GOOS == "linux" || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &bound) != nil {
		return &descriptors{}
	}
	// Go has raised the bound as far as the system allows. Half of it stays for the rest of the daemon.
	return &descriptors{most: int(min(uint64(bound.Cur), 1<<20) / 2)}
})

// take counts the files of a directory, again if it has grown, and reports whether the directory can be
// watched.
func (d *descriptors) take(dir string) bool {
	if d.most == 0 {
		return true
	}
	names, _ := os.ReadDir(dir) // a directory that cannot be read is not watched either
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

// leave stops counting a directory.
func (d *descriptors) leave(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sum -= d.held[dir]
	delete(d.held, dir)
}
