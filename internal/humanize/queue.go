package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Queue returns how many tasks are in each state; empty: there are none.
func Queue(queued, starting, failed int, next *time.Time, now time.Time) string {
	var parts []string
	if queued > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", queued))
	}
	if starting > 0 {
		parts = append(parts, fmt.Sprintf("%d being started", starting))
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	}
	if len(parts) == 0 {
		return ""
	}
	words := "queue: " + strings.Join(parts, ", ")
	if queued > 0 && next != nil && next.After(now) {
		words += ", none before " + Clock(*next, now)
	}
	return words + " (resumed queue)"
}
