package humanize

import (
	"fmt"
	"strings"

	"resumed/internal/resume"
)

// Found returns how many sessions each agent has, and how many of them are stopped, and which commands
// come next.
func Found(names []string, tallies map[string]resume.Tally) (sessions, next string) {
	var words []string
	next = "resumed status, resumed doctor"
	for _, name := range names {
		tally, text := tallies[name], name+": none"
		if n := tally.Known(); n > 0 {
			text = name + ": " + Count(n, "session")
		}
		if n := tally.Stopped(); n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
			next = "resumed status; resumed retry --unseen continues sessions whose start was not seen, with your settings as they are now"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", "), next
}
