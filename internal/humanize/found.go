package humanize

import (
	"fmt"
	"strings"

	"resumed/internal/resume"
)

// Found returns how many sessions each agent has, and how many of them are stopped.
func Found(names []string, tallies map[string]resume.Tally) string {
	var words []string
	for _, name := range names {
		tally, text := tallies[name], name+": none"
		if n := tally.Known(); n > 0 {
			text = name + ": " + Count(n, "session")
		}
		if n := tally.Stopped(); n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
