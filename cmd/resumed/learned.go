//go:build !windows

package main

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/state"
	"resumed/internal/termui"
)

// lesson is what was learned from the outages of one provider.
type lesson struct {
	Provider   string   `json:"provider"`
	Recoveries int      `json:"recoveries"`
	Median     float64  `json:"median_seconds"`
	MaxDelay   *float64 `json:"max_delay_seconds"` // null: too few were observed
}

// learned prints what was learned from outages. It needs no daemon: everything is on disk.
func (c *cli) learned(ctx context.Context) error {
	var recoveries resume.Recoveries
	err := withState(func(reader *state.Reader) (err error) {
		recoveries, err = reader.Recoveries(ctx)
		return err
	})
	if err != nil {
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
	return c.print(map[string]any{"version": 1, "learned": lessons}, func(p *termui.Printer) { printLessons(p, lessons) })
}

func printLessons(p *termui.Printer, lessons []lesson) {
	if len(lessons) == 0 {
		p.Line("No outage has been recorded yet. After 20 outages of a provider, their length decides the longest wait of the policy outage.")
		return
	}
	rows := [][]termui.Cell{termui.Head("PROVIDER", "OUTAGES", "MEDIAN", "LONGEST WAIT")}
	for _, l := range lessons {
		longest := "15m, until 20 were seen"
		if l.MaxDelay != nil {
			longest = humanize.Seconds(*l.MaxDelay)
		}
		rows = append(rows, termui.Row(sanitize.Line(l.Provider), strconv.Itoa(l.Recoveries), humanize.Seconds(l.Median), longest))
	}
	p.Table(rows)
}
