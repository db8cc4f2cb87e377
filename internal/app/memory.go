package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// What the daemon takes of a machine follows what it holds. It works in bursts: left
// alone, the runtime would keep for minutes what the last one took.
const (
	// leastGarbage is how much of the heap may be garbage, in percent of what is held: half
	// of what is usual, memory for a little time. freeGarbage is what may be garbage in
	// any case: with little held, a burst would be spent in collecting it.
	leastGarbage = 50
	freeGarbage  = 16 << 20

	// memoryLook is how often it is looked whether there is memory to give back,
	// and muchAllocated what makes that worth it: more than the looks of a few minutes take of
	// a daemon that rests.
	memoryLook    = time.Minute
	muchAllocated = 32 << 20
)

// tendMemory has memory follow what is held, and gives it back after bursts.
func (d *daemon) tendMemory(ctx context.Context) error {
	boundGarbage(ctx)
	ticker := time.NewTicker(memoryLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if allocated()-whenFreed.Load() > muchAllocated {
			giveBack()
		}
	}
}

// whenFreed is how many bytes had ever been asked for when memory was last given back. It
// is the process's, as memory is.
var whenFreed atomic.Uint64

// giveBack gives the machine what is not needed now.
func giveBack() {
	debug.FreeOSMemory()
	leavePages()
	whenFreed.Store(allocated())
}

// boundGarbage bounds what may be garbage by what is held, anew whenever that was found
// out, until ctx is done.
func boundGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" || ctx.Err() != nil {
		return
	}
	debug.SetGCPercent(garbage(figure("/gc/heap/live:bytes")))
	runtime.AddCleanup(new([64]byte), boundGarbage, ctx) // runs when the next collection is over
}

// garbage returns how much of the heap may be garbage where so much is held, in percent
// of that.
func garbage(held uint64) int {
	const least = 4 << 20 // the runtime does not look at less
	return int(max(leastGarbage, 100*freeGarbage/max(held, least)))
}

// allocated returns how many bytes of the heap were ever asked for.
func allocated() uint64 { return figure("/gc/heap/allocs:bytes") }

// figure returns what the runtime counts.
func figure(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
