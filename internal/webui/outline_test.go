package webui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// told is any event that a page hears.
type told struct {
	Whole  bool    `json:"whole"`
	Groups []group `json:"groups"`
	Rows   []row   `json:"rows"`
	More   *bool   `json:"more"`
}

func hear(t *testing.T, u control.Update) []told {
	t.Helper()
	var all []told
	for event := range events(t.Context(), u) {
		data, found := bytes.CutPrefix(event, []byte("data: "))
		require.True(t, found)
		var one told
		require.NoError(t, json.Unmarshal(data, &one))
		all = append(all, one)
	}
	return all
}

// What is seen first is drawn before the machine is busy with what is not.
func TestABrowserHasTimeToDrawAnOutline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := control.Update{Whole: true}
		many.Sessions = make([]view.Session, 2*outlineFrom)
		began := time.Now()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var at []time.Duration
		for range events(ctx, many) {
			at = append(at, time.Since(began))
		}
		require.Equal(t, []time.Duration{0, drawTime, drawTime}, at)

		for range events(ctx, many) {
			leave() // who is gone is waited for by nobody
		}
		require.Equal(t, drawTime, time.Since(began))
	})
}

// Who opens the page of a outlineFrom sees at once how many stand where, and need not wait for every row.
func TestOfManySessionsTheirGroupsAreToldFirst(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	u := control.Update{Whole: true}
	for i := range 2*outlineFrom + 1 {
		s := view.Session{ID: fmt.Sprint(i), Agent: "a", Account: "a:default", State: resume.Waiting, Class: limit.UsageLimit, NextAt: new(soon.Add(time.Duration(-i) * time.Second))}
		if i == 7 || i == 900 {
			s.State, s.Class = resume.GaveUp, limit.Network
		}
		u.Sessions = append(u.Sessions, s)
	}
	heard := hear(t, u)
	require.Len(t, heard, 1+3, "an outline, and the rows in parts")

	outline := heard[0]
	require.True(t, outline.Whole)
	require.Equal(t, []group{
		{Need: int(humanize.Time), Cause: "usage limit", Account: "a:default", Many: 2*outlineFrom - 1, NextAt: new(soon.Add(-2 * outlineFrom * time.Second))},
		{Need: int(humanize.You), Cause: "gave up: no network", Account: "a:default", Many: 2},
	}, outline.Groups)
	require.Len(t, outline.Rows, 2, "those of a group that is open at once")
	require.Equal(t, "a/7", outline.Rows[0].Key)
	require.Nil(t, outline.More)

	var rows []row
	for i, part := range heard[1:] {
		require.False(t, part.Whole, "the outline is not forgotten")
		require.Equal(t, i < 2, *part.More)
		rows = append(rows, part.Rows...)
	}
	require.Equal(t, showSessions(u.Sessions), rows)
	require.Equal(t, outline.Groups[1].Cause, rows[7].Group, "a row names its group as the outline does")

	u.Sessions = u.Sessions[:outlineFrom]
	heard = hear(t, u)
	require.Len(t, heard, 1, "few are told at once")
	require.Len(t, heard[0].Rows, outlineFrom)
}
