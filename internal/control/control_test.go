package control_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/caller"
	"resumed/internal/control"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// daemon is a backend with a few sessions.
type daemon struct {
	orders  []string
	nudged  []control.HookEvent
	told    []usage.Reading
	paused  bool
	fails   error
	changes control.Changes
	looks   atomic.Int32 // how often Status was called

	mu       sync.Mutex // guards the fields below
	sessions []view.Session

	noFleet
}

// noFleet is a daemon without a fleet.
type noFleet struct{}

func (noFleet) Fleet(context.Context, string, int) (control.Fleet, error) {
	return control.Fleet{}, control.ErrNoFleet
}

func (noFleet) ForgetAccount(context.Context, string) error { return control.ErrNoFleet }

func (noFleet) DoAway(context.Context, string, string, control.Action) (view.Session, error) {
	return view.Session{}, control.ErrNoFleet
}

func (d *daemon) Changes() *control.Changes { return &d.changes }

func (d *daemon) Status(_ context.Context, all bool, only ...resume.Key) (control.Status, error) {
	d.looks.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	status := control.Status{Version: 1, Now: time.Unix(0, 0).UTC(), Sessions: slices.Clone(d.sessions)}
	if !all {
		status.Sessions = d.sessions[:1]
	}
	if len(only) > 0 {
		status.Sessions = slices.DeleteFunc(status.Sessions, func(v view.Session) bool { return !slices.Contains(only, v.Key()) })
	}
	return status, nil
}

// set changes the state of a session and records the change.
func (d *daemon) set(i int, state resume.State) {
	d.mu.Lock()
	d.sessions[i].State = state
	key := d.sessions[i].Key()
	d.mu.Unlock()
	d.changes.Note(key)
}

func (d *daemon) Find(_ context.Context, name string) (resume.Key, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, err := view.Find(d.sessions, name)
	return found.Key(), err
}

func (d *daemon) Session(ctx context.Context, name string) (control.Status, error) {
	key, err := d.Find(ctx, name)
	if err != nil {
		return control.Status{}, err
	}
	status, err := d.Status(ctx, true, key)
	status.Sessions[0].Plan = &view.Plan{Command: []string{"claude", "-p"}, LeftOut: []string{"--ide: <b>"}}
	return status, err
}

func (d *daemon) Do(_ context.Context, key resume.Key, order control.Action) (view.Session, error) {
	d.orders = append(d.orders, string(order)+" "+key.String())
	return view.Session{ID: key.ID, Agent: key.Agent, State: resume.Waiting}, nil
}

func (d *daemon) AddReadings(_ context.Context, _ caller.Caller, _ resume.Key, readings []usage.Reading) error {
	d.told = append(d.told, readings...)
	return nil
}

func (d *daemon) HandleHook(_ context.Context, _ caller.Caller, n control.HookEvent) error {
	d.nudged = append(d.nudged, n)
	return nil
}

func (d *daemon) Refused(caller.Caller, string, string) {}

func (d *daemon) Queue() control.Tasks { return nil }

func (d *daemon) SetPaused(_ context.Context, paused bool) error { d.paused = paused; return nil }

func (d *daemon) History(_ context.Context, name string, since time.Time) (iter.Seq2[control.Step, error], error) {
	if name != "" {
		return nil, fmt.Errorf("%q: %w", name, control.ErrNoSession)
	}
	return func(yield func(control.Step, error) bool) {
		for n := range 3 {
			if !yield(control.Step{Version: 1, At: since, Attempt: n}, nil) {
				return
			}
		}
		if d.fails != nil {
			yield(control.Step{}, d.fails)
		}
	}, nil
}

func (d *daemon) PageURL(bool) (string, error) { return "http://127.0.0.1:7733/?token=t", d.fails }

func (d *daemon) NewPageKey() error { return nil }

func sessionView(agent, id string) view.Session {
	return view.Session{Agent: agent, ID: id, State: resume.Waiting, Attempts: []view.Attempt{}}
}

// ours judges this process: it is the daemon of the test too.
func ours() caller.Judge { return caller.Judge{Proc: procfs.Proc, Daemon: os.Getpid()} }

// serve runs a server and returns its directory.
func serve(t *testing.T, d *daemon) string {
	dir := t.TempDir()
	server, err := control.Listen(dir, d, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return dir
}

func TestQuestionsAndOrders(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("claude-code", "4f2a-1"), sessionView("mybot", "4f2b-2")}}
	client := control.NewClient(serve(t, d))

	status, err := client.Status(t.Context(), false)
	require.NoError(t, err)
	require.Len(t, status.Sessions, 1)
	status, err = client.Status(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, d.sessions, status.Sessions)

	after, err := client.Do(t.Context(), "4f2b", control.Retry)
	require.NoError(t, err)
	require.Equal(t, "4f2b-2", after.ID)
	require.Equal(t, []string{"retry mybot/4f2b-2"}, d.orders)

	require.NoError(t, client.SetPaused(t.Context(), true))
	require.True(t, d.paused)
	require.NoError(t, client.SetPaused(t.Context(), false))
	require.False(t, d.paused)
}

func TestWhatAnAgentWasToldIsPassedOn(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("bot", "s-1")}}
	client := control.NewClient(serve(t, d))
	reading := usage.Reading{Kind: usage.FiveHours, Length: 5 * time.Hour, Used: 71.5, ResetsAt: time.Unix(1794758400, 0).UTC(), At: time.Unix(1794750000, 0).UTC()}
	require.NoError(t, client.AddReadings(t.Context(), "s-1", []usage.Reading{reading}))
	require.Equal(t, []usage.Reading{reading}, d.told)
	require.ErrorIs(t, client.AddReadings(t.Context(), "s-2", []usage.Reading{reading}), control.ErrNoSession)
}

// The caller of Run must get the error, or the daemon runs on and cannot be reached.
func TestASocketThatCannotBeServedEndsTheServer(t *testing.T) {
	server, err := control.Listen(t.TempDir(), &daemon{}, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	server.Break()
	require.ErrorContains(t, server.Run(t.Context()), "serve control socket")
}

func TestErrorsKeepTheirMeaningOverTheWire(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "4f2a-1"), sessionView("a", "4f2a-2")}}
	client := control.NewClient(serve(t, d))

	_, err := client.Do(t.Context(), "nobody", control.Retry)
	require.ErrorIs(t, err, control.ErrNoSession)
	require.ErrorContains(t, err, "nobody")

	_, err = client.Do(t.Context(), "4f2a", control.Retry)
	require.ErrorContains(t, err, "fits 2 sessions: a/4f2a-1, a/4f2a-2")
	require.NotErrorIs(t, err, control.ErrNoSession)

	_, err = client.Do(t.Context(), "4f2a-1", "explode")
	require.Error(t, err)
	require.Empty(t, d.orders)
}

// If the path of a socket cannot be used, it is not known whether a daemon runs.
func TestASocketThatCannotBeReachedIsNotNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	require.NoError(t, os.Mkdir(dir, 0o700))
	defer control.WithoutProc()()
	_, err := control.NewClient(dir).Status(t.Context(), false)
	require.NotErrorIs(t, err, control.ErrNoDaemon)
	require.ErrorContains(t, err, "set XDG_RUNTIME_DIR")
	_, err = control.Listen(dir, &daemon{}, ours(), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "set XDG_RUNTIME_DIR")
}

func TestNoDaemon(t *testing.T) {
	dir := t.TempDir()
	_, err := control.NewClient(dir).Status(t.Context(), false)
	require.ErrorIs(t, err, control.ErrNoDaemon)

	// A socket that a dead daemon left behind.
	short, err := os.MkdirTemp("", "ctl") // the path of a socket must be short
	require.NoError(t, err)
	defer os.RemoveAll(short)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, control.SocketName)})
	require.NoError(t, err)
	listener.SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	_, err = control.NewClient(short).Status(t.Context(), false)
	require.ErrorIs(t, err, control.ErrNoDaemon)

	d := &daemon{sessions: []view.Session{sessionView("a", "b")}}
	server, err := control.Listen(short, d, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err, "it is replaced")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, server.Run(ctx))
}

func TestTheSocketIsItsOwnersAlone(t *testing.T) {
	dir := serve(t, &daemon{sessions: []view.Session{sessionView("a", "b")}})
	info, err := os.Stat(filepath.Join(dir, control.SocketName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	dir = filepath.Join(t.TempDir(), "runtime")
	_, err = control.Listen(dir, &daemon{}, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "until the socket is closed to others, nobody else gets there")
}

func TestADeepDirectoryIsNoObstacle(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "b")}}
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 40))
	server, err := control.Listen(dir, d, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	_, err = control.NewClient(dir).Status(t.Context(), false)
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-done)
}

func TestAFileInTheWayIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, control.SocketName)
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err := control.Listen(dir, &daemon{}, ours(), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "is not a socket")
	require.FileExists(t, path)
}

func TestHistoryIsStreamed(t *testing.T) {
	d := &daemon{}
	client := control.NewClient(serve(t, d))
	since := time.Date(2026, 11, 15, 15, 0, 0, 5, time.UTC)
	read := func() (steps []control.Step, err error) {
		all, err := client.History(t.Context(), "", since)
		if err != nil {
			return nil, err
		}
		for step, err := range all {
			if err != nil {
				return steps, err
			}
			steps = append(steps, step)
		}
		return steps, nil
	}
	steps, err := read()
	require.NoError(t, err)
	require.Len(t, steps, 3)
	require.Equal(t, control.Step{Version: 1, At: since, Attempt: 2}, steps[2])

	d.fails = errors.New("the disk is gone")
	steps, err = read()
	require.Error(t, err, "a torn answer is never taken for a whole one")
	require.LessOrEqual(t, len(steps), 3)

	_, err = client.History(t.Context(), "nobody", since)
	require.ErrorIs(t, err, control.ErrNoSession)
}

// A script that waits for room would be refused at once.
func TestWhereThereIsRoom(t *testing.T) {
	now := time.Date(2026, 11, 15, 15, 0, 0, 0, time.UTC)
	for rule, c := range map[string]struct {
		state string
		used  float64
		reset time.Duration
		room  bool
	}{
		"nothing stops the account":     {"closed", 79, time.Hour, true},
		"as much is used as is allowed": {"closed", 80, time.Hour, false},
		"but that window is over":       {"closed", 80, 0, true},
		"a limit stops it":              {"open", 10, time.Hour, false},
		"one session tries alone":       {"half_open", 10, time.Hour, false},
	} {
		status := control.Status{Now: now, Accounts: []control.Account{
			{Name: "a", State: c.state, Windows: []usage.Window{{Used: c.used, ResetsAt: now.Add(c.reset)}}},
			{Name: "b", State: "open"},
		}}
		require.Equal(t, c.room, control.HasRoom(control.QuotaCondition{Account: "a", Below: 80}, status), rule)
		require.False(t, control.HasRoom(control.QuotaCondition{Below: 80}, status), "of all accounts one is stopped")
	}
}
