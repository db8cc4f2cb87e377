package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Queue returns how many tasks are in each state; empty: there are none.
func Queue(queued, starting, failed int, next *time.Time, now time.Time) string {
	var parts []string
	for i, n := range []int{queued, starting, failed} {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, []string{"waiting", "being started", "failed"}[i]))
		}
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
