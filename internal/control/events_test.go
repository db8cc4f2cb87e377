package control_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// watch follows a daemon and returns its updates. Nothing is read ahead: an update that is not
// taken from the channel waits in the daemon.
func watch(t *testing.T, dir string, all bool) <-chan control.Update {
	updates := make(chan control.Update)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		_ = control.NewClient(dir).Watch(ctx, all, func(u control.Update) error {
			select {
			case updates <- u:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return updates
}

func next(t *testing.T, updates <-chan control.Update) control.Update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-time.After(5 * time.Second):
		t.Fatal("no update came")
		return control.Update{}
	}
}

func TestWatchTellsAllAndThenWhatChanges(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "1"), sessionView("a", "2"), sessionView("a", "3")}}
	updates := watch(t, serve(t, d), true)

	first := next(t, updates)
	require.True(t, first.Whole)
	require.Len(t, first.Sessions, 3)
	require.Equal(t, 1, first.Version)

	d.set(1, resume.GaveUp)
	changed := next(t, updates)
	require.False(t, changed.Whole)
	require.Len(t, changed.Sessions, 1, "only what changed")
	require.Equal(t, "2", changed.Sessions[0].ID)
	require.Equal(t, resume.GaveUp, changed.Sessions[0].State)

	d.mu.Lock()
	d.sessions = d.sessions[:2]
	d.mu.Unlock()
	d.changes.Note(resume.Key{Agent: "a", ID: "3"})
	gone := next(t, updates)
	require.Empty(t, gone.Sessions)
	require.Equal(t, []resume.Key{{Agent: "a", ID: "3"}}, gone.Gone)

	d.changes.NoteAll()
	require.True(t, next(t, updates).Whole)
}

func TestChangesInCloseSuccessionAreBundled(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "1"), sessionView("a", "2")}}
	updates := watch(t, serve(t, d), true)
	next(t, updates)
	began := time.Now()
	for range 500 {
		d.set(0, resume.Resuming)
		d.set(0, resume.Waiting)
	}
	d.set(1, resume.Parked)
	took, seen := time.Since(began), 0
	for parked := false; !parked; seen++ {
		for _, s := range next(t, updates).Sessions {
			parked = parked || s.State == resume.Parked
		}
	}
	require.LessOrEqual(t, seen, 3+int(took/control.BundleGap), "a thousand steps are a few lines")
}

func TestQuietDaemonIsNotAsked(t *testing.T) {
	t.Parallel()
	d := &daemon{sessions: []view.Session{sessionView("a", "1")}}
	updates := watch(t, serve(t, d), true)
	next(t, updates)
	time.Sleep(time.Second) // time for several batches
	require.Equal(t, int32(1), d.looks.Load())
}

func TestManyChangesAreToldAnew(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "1")}}
	f := control.Follow(d, true)
	defer f.Leave()
	_, err := f.Next(t.Context())
	require.NoError(t, err)
	for more, whole := range []bool{false, true} {
		for i := range control.ManyChanges + more {
			d.changes.Note(resume.Key{Agent: "a", ID: fmt.Sprint(i)})
		}
		update, err := f.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, whole, update.Whole)
	}
}

// A reader that never reads must not block the engine, which records changes, nor the stop of
// the daemon, nor another reader.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	d := &daemon{}
	for i := range 5000 { // far more than the buffer of a socket
		d.sessions = append(d.sessions, sessionView("a", fmt.Sprintf("s-%04d", i)))
	}
	dir := t.TempDir()
	server, err := control.Listen(dir, d, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	conn, err := net.Dial("unix", filepath.Join(dir, control.SocketName))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/events?all=1 HTTP/1.1\r\nHost: resumed\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReaderSize(conn, 16).ReadString('\n') // it has started, and no more is read
	require.NoError(t, err)
	require.Contains(t, line, "200")

	began := time.Now()
	for range 20 {
		for i := range d.sessions {
			d.changes.Note(d.sessions[i].Key())
		}
	}
	require.Less(t, time.Since(began), 5*time.Second)
	require.True(t, next(t, watch(t, dir, true)).Whole, "another one reads on")

	cancel()
	began = time.Now()
	require.NoError(t, <-done)
	require.Less(t, time.Since(began), 8*time.Second)
}

func TestWatchEndsWithTheDaemon(t *testing.T) {
	d := &daemon{sessions: []view.Session{sessionView("a", "1")}}
	dir := t.TempDir()
	server, err := control.Listen(dir, d, ours(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	began := time.Now()
	patient, enough := context.WithTimeout(t.Context(), 5*time.Second)
	defer enough()
	err = control.NewClient(dir).Watch(patient, false, func(control.Update) error { cancel(); return nil })
	require.ErrorIs(t, err, control.ErrNoDaemon)
	require.NoError(t, <-done)
	require.Less(t, time.Since(began), 900*time.Millisecond, "a stream does not hold the daemon's end up")

	require.ErrorIs(t, control.NewClient(dir).Watch(t.Context(), false, nil), control.ErrNoDaemon)
}

func TestWatchEndsWhenItsReaderHasEnough(t *testing.T) {
	enough := errors.New("enough")
	dir := serve(t, &daemon{sessions: []view.Session{sessionView("a", "1")}})
	err := control.NewClient(dir).Watch(t.Context(), false, func(control.Update) error { return enough })
	require.ErrorIs(t, err, enough)
}

// torn is a daemon that cannot tell its status while an error is set.
type torn struct {
	*daemon
	err error
}

func (d *torn) Status(ctx context.Context, all bool, only ...resume.Key) (control.Status, error) {
	if d.err != nil {
		return control.Status{}, d.err
	}
	return d.daemon.Status(ctx, all, only...)
}

func TestAChangeThatCouldNotBeToldIsToldLater(t *testing.T) {
	d := &torn{daemon: &daemon{sessions: []view.Session{sessionView("a", "1"), sessionView("a", "2")}}}
	f := control.Follow(d, true)
	defer f.Leave()
	_, err := f.Next(t.Context())
	require.NoError(t, err)

	d.set(0, resume.GaveUp)
	d.err = errors.New("the disk is gone")
	_, err = f.Next(t.Context())
	require.ErrorIs(t, err, d.err)
	d.err = nil
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	update, err := f.Next(ctx)
	require.NoError(t, err)
	require.True(t, update.Whole)
	require.Equal(t, resume.GaveUp, update.Sessions[0].State)
}

// A daemon that lives shows it on a stream on which nothing changes: a client that hears nothing takes it for hung.
func TestAStreamWithoutNewsShowsThatTheDaemonLives(t *testing.T) {
	t.Parallel() // it waits for two beats
	d := &daemon{sessions: []view.Session{sessionView("a", "1")}}
	conn, err := net.Dial("unix", filepath.Join(serve(t, d), control.SocketName))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/events?all=1 HTTP/1.1\r\nHost: resumed\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil) // its body has no end: the connection is closed
	require.NoError(t, err)
	lines := bufio.NewScanner(response.Body)
	require.True(t, lines.Scan(), lines.Err())
	require.True(t, strings.HasPrefix(lines.Text(), "{"), lines.Text())
	for range 2 {
		require.True(t, lines.Scan(), lines.Err())
		require.Empty(t, lines.Text())
	}
}
