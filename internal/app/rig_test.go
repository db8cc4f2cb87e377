package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/resume"
)

// patience is how long a test waits; if the code is correct nothing takes that long.
const patience = time.Minute

// house is the home directory of a daemon, and of a bot with sessions in files.
type house struct {
	dir     string
	network func(path string) string // nil: the real one
}

func newHouse(t *testing.T) house {
	dir := t.TempDir()
	t.Setenv("HOME", dir) // all other paths are below it, too
	return house{dir: dir}
}

func (h house) path(name string) string { return filepath.Join(h.dir, name) }

// configure writes the configuration: the bot is the only agent, it is continued after delay, and word
// is specific to it: the resume prints it, and "word: enough" is a limit.
func (h house) configure(t *testing.T, delay, word string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `
[backoff]
base_delay = %[2]q
max_delay = "10h"
[[notify.command]]
name = "nobody"
run = ["true"]
[[agent]]
name = "bot"
kind = "custom"
files = ["%[1]s/*.log"]
session = '([^/]+)\.log$'
cwd = %[1]q
limit = ['rate limited', '%[3]s: enough']
progress = ['^step ']
resume = ["sh", "-c", 'echo "step %[3]s: $1" >> "$0.log"', "{session}", "{prompt}"]
`, h.dir, delay, word)
	for _, b := range agents.Builtin() {
		fmt.Fprintf(&text, "[[agent]]\nname = %q\nenabled = false\n", b.Name)
	}
	require.NoError(t, os.WriteFile(h.path("config.toml"), []byte(text.String()), 0o600))
}

// write appends to the transcript of a session.
func (h house) write(t *testing.T, session, text string) {
	t.Helper()
	f, err := os.OpenFile(h.path(session+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func (h house) transcript(t *testing.T, session string) string {
	t.Helper()
	text, err := os.ReadFile(h.path(session + ".log"))
	require.NoError(t, err)
	return string(text)
}

// tenant is a daemon that runs in a house.
type tenant struct {
	client *control.Client
	reload chan os.Signal
	stop   func() // stops it and waits for its end

	mu    sync.Mutex
	steps []resume.Change
	more  chan struct{}
}

// run starts a daemon and returns when it watches.
func (h house) run(t *testing.T) *tenant {
	t.Helper()
	cfg, err := config.Load(h.path("config.toml"), agents.Known())
	require.NoError(t, err)
	d := &tenant{client: control.NewClient(h.path("run")), reload: make(chan os.Signal), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			ConfigPath: h.path("config.toml"), Config: cfg, StateDir: h.path("state"), RuntimeDir: h.path("run"),
			LeaseDirs: []string{h.path("leases")}, Version: "test", Log: slog.New(slog.DiscardHandler),
			Network: h.network, Reload: d.reload, Ready: func() { close(ready) }, Seen: d.saw,
		})
	}()
	d.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(d.stop)
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		require.NoError(t, err)
	}
	return d
}

func (d *tenant) saw(c resume.Change) {
	d.mu.Lock()
	d.steps = append(d.steps, c)
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// await returns the first change of a session to a state.
func (d *tenant) await(t *testing.T, session string, state resume.State) resume.Change {
	t.Helper()
	return d.awaitStep(t, session, func(c resume.Change) bool { return c.Before.State != 0 && c.Entered(state) })
}

// awaitStep returns the first change of a session that is as wanted.
func (d *tenant) awaitStep(t *testing.T, session string, wanted func(resume.Change) bool) resume.Change {
	t.Helper()
	for deadline := time.After(patience); ; {
		d.mu.Lock()
		i := slices.IndexFunc(d.steps, func(c resume.Change) bool {
			return c.After.Key.ID == session && wanted(c)
		})
		if i >= 0 {
			defer d.mu.Unlock()
			return d.steps[i]
		}
		d.mu.Unlock()
		select {
		case <-d.more:
		case <-deadline:
			require.FailNow(t, "it did not come to this", "steps: %v", d.steps)
		}
	}
}

// until returns the daemon's status once it is as wanted.
func (d *tenant) until(t *testing.T, wanted func(control.Daemon) bool) control.Daemon {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var found control.Daemon
	err := d.client.Watch(ctx, true, func(u control.Update) error {
		if found = u.Daemon; wanted(found) {
			return errFound
		}
		return nil
	})
	require.ErrorIs(t, err, errFound, "the last was %+v", found)
	return found
}

var errFound = fmt.Errorf("found")

// kinds returns the kinds of steps in the history of a session, or of all.
func (d *tenant) kinds(t *testing.T, session string) string {
	t.Helper()
	steps, err := d.client.History(t.Context(), session, time.Time{})
	require.NoError(t, err)
	var all []string
	for step, err := range steps {
		require.NoError(t, err)
		all = append(all, step.Kind)
	}
	return strings.Join(all, " ")
}
