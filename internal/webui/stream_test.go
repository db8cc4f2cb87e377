package webui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// stream reads what a page is told.
func stream(t *testing.T, b *board) <-chan document {
	p := newPage(t, b)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+at("/events"), nil)
	require.NoError(t, err)
	known(t, p)(request)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	told := make(chan document, 10)
	go func() {
		defer close(told)
		lines := bufio.NewReader(answer.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var d document
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &d) == nil {
				told <- d
			}
		}
	}()
	return told
}

func TestStreamTellsWhatChanges(t *testing.T) {
	due := time.Date(2026, 11, 15, 4, 0, 0, 0, time.UTC)
	b := &board{sessions: []view.Session{
		{
			Agent: "a", ID: "0123456789abcdef", Cwd: "/src/shop", State: resume.Waiting, NextAt: &due, MaxRetries: 5,
			Reason: "rate limit: \x1b[31mline one\nline two", Owner: &resume.Owner{PID: 17},
		},
		{Agent: "a", ID: "2", State: resume.Watching},
	}}
	told := stream(t, b)
	first := <-told
	require.True(t, first.Whole)
	require.Len(t, first.Rows, 2)
	r := first.Rows[0]
	require.Equal(t, "shop", r.Project)
	require.Equal(t, "waiting", r.State)
	require.Equal(t, "rate limit: line one line two", r.Why, "what an agent wrote is made harmless")
	require.Equal(t, "0/5", r.Tries)
	require.Equal(t, int(humanize.Time), r.Need)
	require.True(t, due.Equal(*r.NextAt))
	require.Equal(t, "held by pid 17", r.Owner)
	require.True(t, first.Rows[1].Idle)

	b.mu.Lock()
	b.sessions[0].State = resume.GaveUp
	b.mu.Unlock()
	b.changes.Note(b.sessions[0].Key())
	changed := <-told
	require.False(t, changed.Whole)
	require.Len(t, changed.Rows, 1)
	require.Equal(t, "gave up", changed.Rows[0].State)
	require.Nil(t, changed.Rows[0].NextAt)

	b.mu.Lock()
	b.sessions = b.sessions[1:]
	b.mu.Unlock()
	b.changes.Note(resume.Key{Agent: "a", ID: "0123456789abcdef"})
	require.Equal(t, []string{"a/0123456789abcdef"}, (<-told).Gone)
}

// A browser learns that nothing happens, and that the daemon is still there.
func TestQuietStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := control.Follow(&board{}, false)
		defer f.Leave()
		began := time.Now()
		said := func() string {
			events, err := next(t.Context(), f)
			require.NoError(t, err)
			return string(bytes.Join(slices.Collect(events), nil))
		}
		require.True(t, strings.HasPrefix(said(), "data: {"))
		for range 3 {
			require.Equal(t, "event: beat\ndata:\n\n", said())
		}
		require.InDelta(t, 3*control.BeatEvery, time.Since(began), float64(100*time.Millisecond))
	})
}
