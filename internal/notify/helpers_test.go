package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Golden texts have times of this zone.
func init() { time.Local = time.UTC }

// memStore is a Store in memory. Changes are queued and reach the "disk", the maps, in order and
// together when a caller waits for that. gate, if set, is called before and after: its error is
// returned to the caller.
type memStore struct {
	gate func(op string, after bool) error

	mu     sync.Mutex
	queue  []func()
	rows   map[string]Delivery // by id and channel
	ended  map[string]string
	ending map[string]bool // ended, and maybe not on disk yet
	values map[string][]byte
	writes int
}

func newMemStore() *memStore {
	return &memStore{rows: map[string]Delivery{}, ended: map[string]string{}, ending: map[string]bool{}, values: map[string][]byte{}}
}

func (s *memStore) put(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, change)
}

func (s *memStore) write(op string) error {
	if s.gate != nil {
		if err := s.gate(op, false); err != nil {
			return err
		}
	}
	s.flush()
	if s.gate != nil {
		return s.gate(op, true)
	}
	return nil
}

func (s *memStore) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range s.queue {
		change()
	}
	s.queue = nil
	s.writes++
}

// crash drops what is not on disk.
func (s *memStore) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.ending = nil, map[string]bool{}
}

func (s *memStore) Sync(context.Context, ...resume.Key) error { return s.write("sync") }

func (s *memStore) StoreOutbox(open []Delivery, key string, value []byte) {
	s.put(func() {
		for _, d := range open {
			if s.ended[d.ID+" "+d.Channel] == "" {
				s.rows[d.ID+" "+d.Channel] = d
			}
		}
		if key != "" {
			s.values[key] = bytes.Clone(value)
		}
	})
}

func (s *memStore) Pending() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := slices.DeleteFunc(slices.Collect(maps.Values(s.rows)), func(d Delivery) bool { return s.ending[d.ID+" "+d.Channel] })
	slices.SortFunc(open, func(a, b Delivery) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID+a.Channel, b.ID+b.Channel))
	})
	return open
}

func (s *memStore) Done(ctx context.Context, id, channel, outcome string) error {
	s.put(func() {
		delete(s.rows, id+" "+channel)
		s.ended[id+" "+channel] = outcome
	})
	s.mu.Lock()
	s.ending[id+" "+channel] = true
	s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.write("done")
}

func (s *memStore) PutValue(key string, value []byte) {
	s.put(func() { s.values[key] = bytes.Clone(value) })
}

func (s *memStore) Value(key string) ([]byte, bool) {
	s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return bytes.Clone(v), ok
}

func (s *memStore) outcomes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.ended))
}

// fakeChannel records what was sent with it.
type fakeChannel struct {
	name   string
	events []Event                             // nil: those that need a person
	prefix string                              // the channel's own words
	send   func(context.Context, Notice) error // nil: takes everything

	once sync.Once
	way  *Channel

	mu     sync.Mutex
	got    []Notice
	at     []time.Time
	closed int
}

// ways returns the channels of the notifier, always the same one for each fake.
func ways(fakes ...*fakeChannel) (all []*Channel) {
	for _, c := range fakes {
		c.once.Do(func() {
			common := Common{Name: c.name, To: "nowhere", Events: c.events, Title: c.prefix + "{{.Title}}"}
			if c.events == nil {
				common.Events = []Event{GaveUp, Parked}
			}
			var err error
			if c.way, err = NewChannel(common, c); err != nil {
				panic(err)
			}
		})
		all = append(all, c.way)
	}
	return all
}

func (c *fakeChannel) Send(ctx context.Context, n Notice) (string, error) {
	c.mu.Lock()
	c.got = append(c.got, n)
	c.at = append(c.at, time.Now())
	c.mu.Unlock()
	if c.send != nil {
		return "", c.send(ctx, n)
	}
	return "taken", nil
}

func (c *fakeChannel) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

func (c *fakeChannel) notices() []Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func (c *fakeChannel) times() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.at)
}

var errDown = errors.New("down")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// sample is a notice as the notifier composes it.
func sample(event Event, n int) Notice {
	g := &group{Notice: Notice{ID: "ntc_SAMPLE", Event: event, At: time.Date(2026, 3, 1, 2, 20, 0, 0, time.UTC), Account: "claude-code:default"}}
	for i := range n {
		g.append(session(g.Account, i))
	}
	return compose(g, "box", known)
}

// session is a view of a session that was given up.
func session(account string, i int) view.Session {
	at := time.Date(2026, 3, 1, 2, 9, 0, 0, time.UTC)
	return view.Of(resume.Session{
		Key:     resume.Key{Agent: "claude-code", ID: fmt.Sprintf("%04x-9c1e", i)},
		Account: account,
		Cwd:     fmt.Sprintf("/home/u/src/api%d", i),
		State:   resume.GaveUp,
		Reason:  resume.Reason{Kind: resume.WhyGaveUp, N: 1},
		Interruption: resume.Interruption{
			Limit:         limit.Verdict{Class: limit.UsageLimit, WaitHelps: true},
			InterruptedAt: at,
			Attempts:      []resume.Attempt{{N: 1, StartedAt: at.Add(time.Minute), Delay: 30 * time.Second, Outcome: resume.LimitedOut}},
		},
		LimitedAt: at,
	}, 5)
}

// running starts a notifier and returns it; it is stopped when the test ends.
func running(t *testing.T, o Options) *Notifier {
	t.Helper()
	n, stop := start(t, o)
	t.Cleanup(stop)
	return n
}

// start starts a notifier and returns how to stop it.
func start(t *testing.T, o Options) (*Notifier, func()) {
	t.Helper()
	if o.Store == nil {
		o.Store = newMemStore()
	}
	if o.Log == nil {
		o.Log = quiet()
	}
	if o.Rand == nil {
		o.Rand = func() float64 { return 0.5 }
	}
	n := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	var once sync.Once
	return n, func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-done)
		})
	}
}

// logs is a log that tests read.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
