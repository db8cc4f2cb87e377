package feed

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/ownership"
	"resumed/internal/resume"
)

// patience is how long a test waits for what must come; nothing waits that long
// when the code is right.
const patience = time.Minute

// diary is an agent of functions. Each file is a session, and each line of it
// begins with what happened.
type diary struct {
	agent.Base
	name    string
	sources []agent.Source
	observe func(agent.Source, lines.Line) (resume.Observation, bool) // nil: readDiary
}

// newDiary returns an agent that writes into files in each of the places.
func newDiary(name string, places ...string) *diary {
	d := &diary{name: name}
	for _, place := range places {
		d.sources = append(d.sources, agent.Source{
			Account: name + ":default", Root: place, Match: func(rel string) bool { return strings.HasSuffix(rel, ".txt") },
		})
	}
	return d
}

func (d *diary) Name() string            { return d.name }
func (d *diary) Sources() []agent.Source { return d.sources }

func (d *diary) Observe(src agent.Source, line lines.Line) (resume.Observation, bool) {
	if d.observe != nil {
		return d.observe(src, line)
	}
	return readDiary(src, line)
}

func (d *diary) Owner(context.Context, resume.Session) (*resume.Owner, error) { return nil, nil }

func (d *diary) Plan(context.Context, resume.Session, string) (agent.Plan, error) {
	return agent.Plan{}, nil
}

func readDiary(_ agent.Source, line lines.Line) (resume.Observation, bool) {
	seen := resume.Observation{Key: resume.Key{ID: strings.TrimSuffix(filepath.Base(line.Path), ".txt")}, Cwd: filepath.Dir(line.Path)}
	word, text, _ := strings.Cut(string(line.Data), " ")
	switch word {
	case "limit":
		seen.Event = resume.Limited{At: line.ModTime, Text: text, Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}}
	case "prompt":
		seen.Event = resume.Prompted{At: line.ModTime, By: text}
	case "move":
		seen.Event = resume.Progressed{At: line.ModTime}
	default:
		return resume.Observation{}, false
	}
	return seen, true
}

// teller is an agent that reports by itself.
type teller struct {
	diary
	follow func(context.Context, agent.Feed) error
	look   func(context.Context, resume.Session) error
}

func (f *teller) Follow(ctx context.Context, feed agent.Feed) error { return f.follow(ctx, feed) }

func (f *teller) ReadNew(ctx context.Context, s resume.Session) error { return f.look(ctx, s) }

func (f *teller) Evidence(string) ([]agent.Evidence, error) { return nil, nil }

// sink is what feeds tell, and where they keep their cursors.
type sink struct {
	mu      sync.Mutex
	seen    []resume.Observation
	cursors Cursors
	refuse  error           // what Observe returns
	hold    <-chan struct{} // what Observe waits for; nil: nothing
	came    chan struct{}
}

func newSink() *sink { return &sink{cursors: make(Cursors), came: make(chan struct{}, 1)} }

func (s *sink) observe(_ context.Context, observations []resume.Observation) error {
	if s.hold != nil && len(observations) > 0 {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.seen = append(s.seen, observations...)
	select {
	case s.came <- struct{}{}:
	default:
	}
	return nil
}

func (s *sink) keep(place string, cursor json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursors[place] = cursor
}

func (s *sink) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// told returns what was observed so far.
func (s *sink) told() []resume.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// kept returns the cursors that were kept so far.
func (s *sink) kept() Cursors {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.cursors)
}

// await returns the first n observations, when they have come.
func (s *sink) await(t *testing.T, n int) []resume.Observation {
	t.Helper()
	for deadline := time.After(patience); len(s.told()) < n; {
		select {
		case <-s.came:
		case <-deadline:
			require.FailNow(t, "too few observations", "want %d: %v", n, s.told())
		}
	}
	return s.told()[:n]
}

func (s *sink) options() Options {
	return Options{
		Trust: func() ownership.Trust { return ownership.Trust{} },
		Since: func() time.Time { return time.Time{} }, Kept: func(string) (json.RawMessage, bool) { return nil, false },
		Observe: s.observe, Keep: s.keep, Elsewhere: func(resume.Key) bool { return false }, Log: slog.New(slog.DiscardHandler),
	}
}

// start runs feeds of those agents, and returns what ends them.
func start(t *testing.T, opts Options, cursors Cursors, agents ...agent.Agent) (f *Feeds, stop func()) {
	t.Helper()
	f = New(opts, named(agents...), cursors)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return f, stop
}

// ready starts feeds and returns when all that lay there was read.
func ready(t *testing.T, opts Options, cursors Cursors, agents ...agent.Agent) (f *Feeds, stop func()) {
	t.Helper()
	f, stop = start(t, opts, cursors, agents...)
	for _, a := range agents {
		require.NoError(t, f.Await(within(t), a.Name()))
	}
	return f, stop
}

func named(agents ...agent.Agent) map[string]agent.Agent {
	all := make(map[string]agent.Agent)
	for _, a := range agents {
		all[a.Name()] = a
	}
	return all
}

// within is a context that ends where a test would hang.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// of is the session of a diary's file.
func of(name, path string) resume.Session {
	return resume.Session{Key: resume.Key{Agent: name}, Transcript: path}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// texts are the words of observations, for people who read a failure.
func texts(seen []resume.Observation) []string {
	all := []string{}
	for _, one := range seen {
		switch ev := one.Event.(type) {
		case resume.Limited:
			all = append(all, "limit "+ev.Text)
		case resume.Prompted:
			all = append(all, "prompt "+ev.By)
		case resume.Progressed:
			all = append(all, "move")
		}
	}
	return all
}

func current(f *Feeds) []*feed {
	feeds, _ := f.current()
	return feeds
}
