package termui

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// paper is an output that can be read while it is written.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// lines returns what was written, without times, and clears it.
func (p *paper) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for line := range strings.Lines(p.text.String()) {
		lines = append(lines, strings.TrimSpace(line[len("2006-01-02 15:04:05 "):]))
	}
	p.text.Reset()
	return lines
}

func TestLinesTellEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon, out := newFake(), &paper{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- Following{Daemon: daemon, Out: out}.Lines(ctx) }()

		waiting := session("4f2a9c1e", resume.Waiting, func(v *view.Session) { v.NextAt = new(time.Now().Add(90 * time.Minute)) })
		daemon.updates <- control.Update{Status: status(waiting, session("9c1d", resume.Watching)), Whole: true}
		synctest.Wait()
		require.Len(t, out.lines(), 3, "the daemon and both sessions")

		time.Sleep(time.Minute)
		daemon.updates <- control.Update{Status: status(waiting)}
		synctest.Wait()
		require.Empty(t, out.lines(), "a countdown that runs down is no news")

		waiting.State, waiting.Attempt = resume.Resuming, 1
		daemon.updates <- control.Update{Status: status(waiting)}
		synctest.Wait()
		require.Equal(t, []string{"4f2a  shop  claude-code  resuming, try 1/5: usage limit: You've hit your 5-hour limit"}, out.lines())

		close(daemon.updates)
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"no daemon; looking for it"}, out.lines(), "said once")
		cancel()
		require.NoError(t, <-done)
	})
}

func TestLinesOfOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon, out := newFake(), &paper{}
		only := session("4f2a9c1e", resume.Waiting).Key()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- Following{Daemon: daemon, Out: out, Only: &only}.Lines(ctx) }()
		daemon.updates <- control.Update{Status: status(session("4f2a9c1e", resume.Parked), session("9c1d", resume.Watching)), Whole: true}
		synctest.Wait()
		require.Len(t, out.lines(), 2, "the daemon and the session")
		cancel()
		require.NoError(t, <-done)
	})
}

func TestLinesEndWhenNobodyReads(t *testing.T) {
	daemon, closed := newFake(), errors.New("broken pipe")
	done := make(chan error)
	go func() { done <- Following{Daemon: daemon, Out: broken{closed}}.Lines(t.Context()) }()
	daemon.updates <- control.Update{Status: status(), Whole: true}
	require.ErrorIs(t, <-done, closed)
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }
