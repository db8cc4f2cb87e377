package agents_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/app"
	"resumed/internal/config"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// parrot is a made-up agent: all that one folder would hold.
type parrot struct {
	agent.Base
	dir string
}

func (*parrot) Name() string { return "parrot" }

func (p *parrot) Sources() []agent.Source {
	return []agent.Source{{
		Account: "parrot:default", Root: p.dir,
		Match: func(rel string) bool { return strings.HasSuffix(rel, ".txt") },
	}}
}

func (p *parrot) Observe(_ agent.Source, line agent.Line) (resume.Observation, bool) {
	sight := resume.Observation{
		Key: resume.Key{Agent: "parrot", ID: strings.TrimSuffix(filepath.Base(line.Path), ".txt")}, Cwd: p.dir,
	}
	switch {
	case bytes.HasPrefix(line.Data, []byte("squawk")):
		sight.Event = resume.Progressed{At: line.ModTime}
	case bytes.HasPrefix(line.Data, []byte("tired")):
		sight.Event = resume.Limited{
			At: line.ModTime, Text: string(line.Data),
			Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: line.ModTime, Source: limit.Words}},
		}
	default:
		return resume.Observation{}, false
	}
	return sight, true
}

func (*parrot) Owner(context.Context, resume.Session) (*resume.Owner, error) { return nil, nil }

func (p *parrot) Plan(_ context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	return agent.Plan{Run: &agent.Command{
		Argv: []string{"sh", "-c", `echo "squawk $1" >> "$0"`, s.Transcript, w.Prompt}, Dir: p.dir,
	}}, nil
}

// Adding an agent is its folder and one line in the list.
func TestAMadeUpAgentNeedsOneLineInTheList(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	cage := filepath.Join(home, "cage")
	require.NoError(t, os.Mkdir(cage, 0o700))
	agents.Add(t, agent.Builtin{Name: "parrot", New: func(agent.Options) (agent.Agent, error) { return &parrot{dir: cage}, nil }})

	changes := newChanges()
	stop := runDaemon(t, home, changes)
	perch := filepath.Join(cage, "polly.txt")
	require.NoError(t, os.WriteFile(perch, []byte("squawk\ntired\n"), 0o600))
	changes.await(t, func(c resume.Change) bool {
		return c.Entered(resume.Watching) && c.Before.Interrupted() && c.After.Key.ID == "polly"
	})
	stop()
	said, err := os.ReadFile(perch)
	require.NoError(t, err)
	require.Equal(t, "squawk\ntired\nsquawk continue\n", string(said))
}

// runDaemon runs a daemon with the defaults in that home.
func runDaemon(t *testing.T, home string, changes *changes) (stop func()) {
	cfg, err := config.Load("", agents.Known())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- app.Run(ctx, app.Options{
			Config: cfg, StateDir: filepath.Join(home, "state"), RuntimeDir: filepath.Join(home, "run"),
			LeaseDirs: []string{filepath.Join(home, "leases")}, Version: "test",
			Log: slog.New(slog.DiscardHandler), Seen: changes.add, Ready: func() { close(ready) },
		})
	}()
	select {
	case <-ready:
	case err := <-done:
		require.NoError(t, err)
	}
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// changes remembers what a daemon decided.
type changes struct {
	mu   sync.Mutex
	all  []resume.Change
	more chan struct{}
}

func newChanges() *changes { return &changes{more: make(chan struct{}, 1)} }

func (c *changes) add(change resume.Change) {
	c.mu.Lock()
	c.all = append(c.all, change)
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *changes) await(t *testing.T, wanted func(resume.Change) bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for seen := 0; ; {
		c.mu.Lock()
		fresh := c.all[seen:]
		seen = len(c.all)
		c.mu.Unlock()
		if slices.ContainsFunc(fresh, wanted) {
			return
		}
		select {
		case <-c.more:
		case <-deadline:
			t.Fatal("it did not happen within 20 s")
		}
	}
}
