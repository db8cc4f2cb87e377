package watch

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must come; nothing waits that long
// when the code is right.
const patience = time.Minute

// sink is what a test delivers to: it stores cursors as the daemon does.
type sink struct {
	mu      sync.Mutex
	batches []Batch // with data of their own
	cursors map[string]Cursor
	came    chan struct{}

	refuse func(Batch) error // may be nil
	enough func(Batch) bool  // may be nil
}

func newSink() *sink { return &sink{cursors: map[string]Cursor{}, came: make(chan struct{}, 1)} }

func (s *sink) deliver(_ context.Context, b Batch) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(b); err != nil {
			return false, err
		}
	}
	b.Lines = slices.Clone(b.Lines)
	for i := range b.Lines {
		b.Lines[i].Data = slices.Clone(b.Lines[i].Data)
	}
	s.batches = append(s.batches, b)
	if !b.Cursor.IsZero() {
		s.cursors[b.Path] = b.Cursor
	}
	select {
	case s.came <- struct{}{}:
	default:
	}
	return s.enough != nil && s.enough(b), nil
}

func (s *sink) known(path string) (Cursor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.cursors[path]
	return c, ok
}

func (s *sink) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// lines returns what was delivered of a path, in the order of its coming.
func (s *sink) lines(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := []string{}
	for _, b := range s.batches {
		for _, l := range b.Lines {
			if b.Path == path {
				lines = append(lines, string(l.Data))
			}
		}
	}
	return lines
}

// of returns the batches of a path.
func (s *sink) of(path string) []Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.batches), func(b Batch) bool { return b.Path != path })
}

// await waits until a condition holds that only a delivery can change.
func (s *sink) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-s.came:
		case <-deadline:
			require.FailNow(t, "did not come: "+what)
		}
	}
}

func (s *sink) awaitLines(t *testing.T, path string, want ...string) {
	t.Helper()
	s.await(t, strings.Join(want, ", "), func() bool { return len(s.lines(path)) >= len(want) })
	require.Equal(t, want, s.lines(path))
}

// rig is a running watcher on a directory of its own.
type rig struct {
	*sink
	w    *Watcher
	root string
	stop func() // ends Run and waits for it
	mark string // a file outside of the root
}

// options are those of a watcher of all *.log files, three levels deep.
func (s *sink) options(root string) Options {
	return Options{
		Root:    root,
		Depth:   3,
		Match:   func(rel string) bool { return strings.HasSuffix(rel, ".log") },
		Known:   s.known,
		Since:   func() time.Time { return time.Time{} },
		Deliver: s.deliver,
		Ready:   func(context.Context) {},
		Log:     slog.New(slog.DiscardHandler),
	}
}

// watched starts a watcher of all *.log files, three levels deep, and returns
// when it is ready. The rescan is out of reach: what comes, comes by events.
func watched(t *testing.T, root string, s *sink, change func(*Watcher)) *rig {
	t.Helper()
	ready := make(chan struct{})
	opts := s.options(root)
	opts.Ready = func(context.Context) { close(ready) }
	opts.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := New(opts)
	w.pause = time.Hour
	if change != nil {
		change(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	r := &rig{sink: s, w: w, root: w.opts.Root, mark: filepath.Join(t.TempDir(), "mark")}
	write(t, r.mark, "mark\n")
	r.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(r.stop)
	select {
	case <-ready:
	case <-time.After(patience):
		require.FailNow(t, "the watcher is not ready")
	}
	return r
}

func (r *rig) path(elem ...string) string {
	return filepath.Join(append([]string{r.root}, elem...)...)
}

// settle returns when all that happened before was dealt with: events come in
// order, so it is enough to see one that comes last. It is of a name that no earlier event
// has, and of a file that no deleted one gave its number to.
func (r *rig) settle(t *testing.T) {
	t.Helper()
	mark := r.path(fmt.Sprintf("settled-%d.log", rand.Uint64()))
	require.NoError(t, os.Link(r.mark, mark))
	r.await(t, "the mark", func() bool { return len(r.lines(mark)) > 0 })
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func epochs(batches []Batch) []string {
	var all []string
	for _, b := range batches {
		all = append(all, b.Epoch)
	}
	return slices.Compact(all)
}

// containing keeps the lines that contain one of the texts.
func containing(texts ...string) func(line []byte) Weight {
	return func(line []byte) Weight {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(string(line), text) }) {
			return Matters
		}
		return Nothing
	}
}
