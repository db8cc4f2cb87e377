package soak

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// phone is a person's own program. Each run leaves a file, whose name has the notice's
// id and the number of the run's process: so it is known how often each came. What is
// cut off by the death of the daemon that was telling it did not come.
const phone = `#!/bin/sh
cat > "$HOME/rung/.$$" && tail -c 2 "$HOME/rung/.$$" | grep -q '}' && mv "$HOME/rung/.$$" "$HOME/rung/$RESUMED_NOTICE_ID.$$"
`

// told is what of a notice matters: which session gave up, at which of its limits.
type told struct {
	ID       string
	Sessions []struct {
		ID, Text, State string
	}
}

// heard are figures of what people were told.
type heard struct {
	notices int // by their ids
	again   int // of them, how many came more than once, under the same id
	untold  []string
}

// listen compares what people were told with the history: no give-up was told under
// two names. A notice may come again, under the same id, only if a daemon was killed
// between.
func (w *world) listen() heard {
	files, err := os.ReadDir(filepath.Join(w.home, "rung"))
	require.NoError(w.t, err)
	rung, names := make(map[string][]time.Time), make(map[string]string)
	about := make(map[string]int)
	for _, file := range files {
		if strings.HasPrefix(file.Name(), ".") {
			continue // it was cut off
		}
		id, _, _ := strings.Cut(file.Name(), ".")
		info, err := file.Info()
		require.NoError(w.t, err)
		rung[id] = append(rung[id], info.ModTime())
		data, err := os.ReadFile(filepath.Join(w.home, "rung", file.Name()))
		require.NoError(w.t, err)
		var n told
		require.NoError(w.t, json.Unmarshal(data, &n))
		require.Equal(w.t, id, n.ID)
		for _, s := range n.Sessions {
			what := s.ID + " " + s.Text
			require.Contains(w.t, []string{"", id}, names[what], "told twice under two names: %s", what)
			if names[what] == "" {
				about[s.ID]++
			}
			names[what] = id
		}
	}
	all := heard{notices: len(rung)}
	for id, times := range rung {
		slices.SortFunc(times, time.Time.Compare)
		for i := range times[1:] {
			require.True(w.t, w.killedBetween(times[i], times[i+1]), "%s came twice, and no daemon was killed between", id)
		}
		if len(times) > 1 {
			all.again++
		}
	}
	for session, times := range w.gaveUp() {
		if about[session] < times {
			all.untold = append(all.untold, session+" gave up, and nobody was told")
		}
	}
	return all
}

func (w *world) killedBetween(a, b time.Time) bool {
	return slices.ContainsFunc(w.killedAt, func(at time.Time) bool {
		return at.After(a.Add(-time.Second)) && at.Before(b.Add(time.Second)) // times of files are coarse
	})
}

// gaveUp counts by session how often it gave up, as the history has it.
func (w *world) gaveUp() map[string]int {
	out, err := w.command("history", "--json").Output()
	require.NoError(w.t, err)
	times := make(map[string]int)
	for line := range strings.Lines(string(out)) {
		var step struct{ Session, Kind, From string }
		require.NoError(w.t, json.Unmarshal([]byte(line), &step))
		if step.Kind == "gave_up" && step.From != "gave_up" {
			times[step.Session]++
		}
	}
	return times
}
