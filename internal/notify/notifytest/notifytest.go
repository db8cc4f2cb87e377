// Package notifytest contains what the tests of all channels share: a notice to send, and checks that
// every channel must pass.
package notifytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Notice is a notice about some sessions, numbered from 0, like those that the notifier composes.
func Notice(event notify.Event, sessions int) notify.Notice {
	at := time.Date(2026, 3, 1, 2, 20, 0, 0, time.UTC)
	n := notify.Notice{
		Version: notify.Version, ID: "ntc_SAMPLE", Event: event, At: at, Host: "box", Account: "claude-code:default",
		Title:        fmt.Sprintf("%d sessions: %s", sessions, event),
		Text:         "It happened.\nTo try again: resumed retry 0000",
		RetryCommand: "resumed retry 0000",
		Sessions:     []view.Session{},
	}
	for i := range sessions {
		n.Sessions = append(n.Sessions, Session(i))
	}
	return n
}

// WithoutStart returns a notice about two sessions; the start of one was not seen.
func WithoutStart(event notify.Event) notify.Notice {
	n := Notice(event, 2)
	n.Sessions[1].Needs = new(string(resume.StartUnseen))
	return n
}

// Session is a session that was given up.
func Session(i int) view.Session {
	at := time.Date(2026, 3, 1, 2, 9, 0, 0, time.UTC)
	return view.Of(resume.Session{
		Key:       resume.Key{Agent: "claude-code", ID: fmt.Sprintf("%04x-9c1e", i)},
		Account:   "claude-code:default",
		Cwd:       fmt.Sprintf("/home/u/src/api%d", i),
		State:     resume.GaveUp,
		Reason:    resume.Reason{Kind: resume.WhyGaveUp, N: 1},
		LimitedAt: at,
		Interruption: resume.Interruption{
			InterruptedAt: at,
			Attempts:      []resume.Attempt{{N: 1, StartedAt: at.Add(time.Minute), Delay: 30 * time.Second, Outcome: resume.LimitedOut}},
		},
	}, 5)
}

// Conform checks what every channel must do. silent returns a channel to a server that never answers.
func Conform(t *testing.T, silent func(notify.Common) (*notify.Channel, error)) {
	t.Helper()
	_, err := silent(notify.Common{Name: "x", Title: "{{.Nope}}", Text: "{{"})
	require.ErrorContains(t, err, `channel "x": title: `)
	require.ErrorContains(t, err, `channel "x": text: `)

	ch, err := silent(notify.Common{Name: "x", Events: []notify.Event{notify.Recovered}, Title: "{{.Event}} in {{range .Sessions}}{{project .}}{{end}}"})
	require.NoError(t, err)
	require.Equal(t, "x", ch.Name)
	require.Equal(t, []notify.Event{notify.Recovered}, ch.Events)
	require.NotEmpty(t, ch.To)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	result := ch.Send(ctx, Notice(notify.GaveUp, 1))
	require.Error(t, result.Err, "nobody has taken it")
	require.Equal(t, "gave_up in api0", result.Sent)
	require.Less(t, time.Since(began), 3*time.Second, "it returns soon after its context is done")
	require.NoError(t, ch.Close())
}
