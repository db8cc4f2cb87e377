package queue

import (
	"slices"
	"strings"
)

// Prompts splits a text into prompts: one in each line, or of several lines with lines of --- between
// them.
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
