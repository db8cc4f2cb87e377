package engine

import (
	"container/heap"
	"time"

	"resumed/internal/resume"
)

// timers finds the session whose deadline comes first.
type timers struct {
	queue deadlines
	byKey map[resume.Key]*deadline
}

func newTimers() timers { return timers{byKey: make(map[resume.Key]*deadline)} }

// set gives the session a deadline; the zero time takes it away.
func (t *timers) set(key resume.Key, at time.Time) {
	d, known := t.byKey[key]
	switch {
	case at.IsZero() && known:
		heap.Remove(&t.queue, d.index)
		delete(t.byKey, key)
	case at.IsZero():
	case known:
		if !d.at.Equal(at) {
			d.at = at
			heap.Fix(&t.queue, d.index)
		}
	default:
		d = &deadline{key: key, at: at}
		t.byKey[key] = d
		heap.Push(&t.queue, d)
	}
}

// next returns the earliest deadline.
func (t *timers) next() (resume.Key, time.Time, bool) {
	if len(t.queue) == 0 {
		return resume.Key{}, time.Time{}, false
	}
	return t.queue[0].key, t.queue[0].at, true
}

type deadline struct {
	key   resume.Key
	at    time.Time
	index int
}

// deadlines is a heap.Interface, earliest first.
type deadlines []*deadline

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

func (d *deadlines) Push(x any) {
	entry := x.(*deadline)
	entry.index = len(*d)
	*d = append(*d, entry)
}

func (d *deadlines) Pop() any {
	old := *d
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	return last
}
