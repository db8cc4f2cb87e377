//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"resumed/internal/dirs"
	"resumed/internal/logging"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/state"
)

// lesson is what the outages of one provider have taught.
type lesson struct {
	Provider   string   `json:"provider"`
	Recoveries int      `json:"recoveries"`
	Median     float64  `json:"median_seconds"`
	MaxDelay   *float64 `json:"max_delay_seconds"` // null: too few were seen
}

// learned prints what outages have taught. It asks no daemon: all of it is on disk.
func (c *cli) learned(ctx context.Context) error {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	var recoveries resume.Recoveries
	reader, err := state.OpenReader(dir)
	switch {
	case err == nil:
		defer reader.Close()
		if recoveries, err = reader.Recoveries(ctx); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	lessons := make([]lesson, 0, len(recoveries))
	for _, provider := range slices.Sorted(maps.Keys(recoveries)) {
		median, n := recoveries.Median(provider)
		l := lesson{Provider: provider, Recoveries: n, Median: median.Seconds()}
		if longest, ok := recoveries.Cap(provider); ok {
			l.MaxDelay = new(longest.Seconds())
		}
		lessons = append(lessons, l)
	}
	if c.json {
		return json.NewEncoder(logging.Escape(c.out)).Encode(map[string]any{"version": 1, "learned": lessons})
	}
	p := newPage(c.out)
	printLessons(p, lessons)
	return p.flush()
}

func printLessons(p *page, lessons []lesson) {
	if len(lessons) == 0 {
		p.line("No outage has been recorded yet. After 20 outages of a provider, their length decides the longest wait of the policy outage.")
		return
	}
	rows := [][]cell{{head("PROVIDER"), head("OUTAGES"), head("MEDIAN"), head("LONGEST WAIT")}}
	for _, l := range lessons {
		longest := "15m, until 20 were seen"
		if l.MaxDelay != nil {
			longest = brief(*l.MaxDelay)
		}
		rows = append(rows, []cell{plain(sanitize.Line(l.Provider)), plain(strconv.Itoa(l.Recoveries)), plain(brief(l.Median)), plain(longest)})
	}
	p.table(rows)
}
