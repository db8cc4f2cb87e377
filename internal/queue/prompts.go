package queue

import (
	"slices"
	"strings"
)

// Prompts returns the prompts of a text: one in each line, or with lines of --- between
// prompts of several lines.
func Prompts(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	parts := lines
	if slices.Contains(lines, "---") {
		parts = strings.Split("\n"+strings.Join(lines, "\n")+"\n", "\n---\n")
	}
	var prompts []string
	for _, part := range parts {
		if part = strings.Trim(part, "\n"); strings.TrimSpace(part) != "" {
			prompts = append(prompts, part)
		}
	}
	return prompts
}
