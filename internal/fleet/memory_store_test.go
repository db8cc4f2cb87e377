package fleet

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store in memory, like a single server.
type Memory struct {
	now func() time.Time

	mu       sync.Mutex // guards everything that follows
	rev      uint64
	buckets  map[Bucket]map[string]kept
	watchers map[*watcher]struct{}
	seen     map[string]Notice
	notices  []Notice
	news     chan struct{} // closed when there is one more notice
}

// kept is an entry, and how long it lasts.
type kept struct {
	Entry
	lasts time.Duration
}

type watcher struct{ to chan Entry }

// NewMemory returns an empty store with that clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{
		now: now, buckets: make(map[Bucket]map[string]kept), watchers: make(map[*watcher]struct{}),
		seen: make(map[string]Notice), news: make(chan struct{}),
	}
}

// in returns the keys of a bucket that have not expired.
func (m *Memory) in(bucket Bucket) map[string]kept {
	all := m.buckets[bucket]
	if all == nil {
		all = make(map[string]kept)
		m.buckets[bucket] = all
	}
	now := m.now()
	for key, e := range all {
		if now.Sub(e.At) >= e.lasts {
			m.remove(bucket, key)
		}
	}
	return all
}

func (m *Memory) put(bucket Bucket, key string, value []byte, lasts time.Duration) uint64 {
	m.rev++
	e := Entry{Key: key, Value: bytes.Clone(value), Rev: m.rev, At: m.now()}
	m.buckets[bucket][key] = kept{e, min(cmp.Or(lasts, TTL[bucket]), TTL[bucket])}
	m.tell(bucket, e)
	return m.rev
}

func (m *Memory) remove(bucket Bucket, key string) {
	m.rev++
	delete(m.buckets[bucket], key)
	m.tell(bucket, Entry{Key: key, Rev: m.rev, At: m.now(), Gone: true})
}

func (m *Memory) tell(bucket Bucket, e Entry) {
	for w := range m.watchers {
		if bucket != Accounts {
			continue
		}
		select {
		case w.to <- e:
		default: // a reader that is too slow misses it
		}
	}
}

// Get returns the value of a key.
func (m *Memory) Get(_ context.Context, bucket Bucket, key string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.in(bucket)[key]
	if !ok {
		return Entry{}, ErrMissing
	}
	return e.Entry, nil
}

// List returns the keys with that prefix, sorted.
func (m *Memory) List(_ context.Context, bucket Bucket, prefix string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Entry
	for e := range maps.Values(m.in(bucket)) {
		if strings.HasPrefix(e.Key, prefix) {
			found = append(found, e.Entry)
		}
	}
	slices.SortFunc(found, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	return found, nil
}

// Update writes a key that has that revision; 0: that does not exist.
func (m *Memory) Update(_ context.Context, bucket Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.in(bucket)[key].Rev != rev {
		return 0, ErrConflict
	}
	return m.put(bucket, key, value, lasts), nil
}

// Delete removes a key that has that revision.
func (m *Memory) Delete(_ context.Context, bucket Bucket, key string, rev uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, there := m.in(bucket)[key]; !there || e.Rev != rev {
		return ErrConflict
	}
	m.remove(bucket, key)
	return nil
}

// Watch sends changes. The expiry of a key is sent when its bucket is read the next time.
func (m *Memory) Watch(ctx context.Context) (<-chan Entry, error) {
	w := &watcher{to: make(chan Entry, 64)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers[w] = struct{}{}
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
		close(w.to)
	})
	return w.to, nil
}

// Publish stores a notice once.
func (m *Memory) Publish(_ context.Context, from, id string, notice []byte) (Notice, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, seen := m.seen[id]; seen {
		return first, nil
	}
	m.seen[id] = Notice{Host: from, ID: id, At: m.now(), Data: bytes.Clone(notice)}
	m.notices = append(m.notices, m.seen[id])
	close(m.news)
	m.news = make(chan struct{})
	return m.seen[id], nil
}

// Notices calls tell once for each notice.
func (m *Memory) Notices(ctx context.Context, tell func(context.Context, Notice) error) error {
	told := make(map[string]bool)
	for {
		m.mu.Lock()
		left, news := slices.Clone(m.notices), m.news
		m.mu.Unlock()
		for _, n := range left {
			if told[n.ID] || ctx.Err() != nil {
				continue
			}
			told[n.ID] = true
			if tell(ctx, n) == nil {
				m.mu.Lock()
				m.notices = slices.DeleteFunc(m.notices, func(other Notice) bool { return other.ID == n.ID })
				m.mu.Unlock()
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Now returns the store's time.
func (m *Memory) Now(context.Context) (time.Time, error) { return m.now(), nil }

// LeaseTTL is how long a lease lasts at the default interval.
const LeaseTTL = renewals * Heartbeat

// Filled returns the options of a host that shows nothing and, if it cannot deliver notices, never
// reports to people.
func Filled(o Options) Options {
	reports := o.Deliver != nil
	set(&o.Waiting, func() int { return 0 })
	set(&o.Shows, func() map[string]int { return nil })
	set(&o.Tells, func() bool { return reports })
	set(&o.Changed, func(Status) {})
	set(&o.TellsGone, func() bool { return reports })
	set(&o.HostGone, func(Host) (string, []byte) { return "", nil })
	set(&o.Same, func(Notice, []byte) bool { return true })
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

func set[F any](field *F, byDefault F) {
	if reflect.ValueOf(*field).IsNil() {
		*field = byDefault
	}
}

type noMetrics struct{}

func (noMetrics) Wrote(string)   {}
func (noMetrics) Probed(string)  {}
func (noMetrics) Dropped(string) {}
