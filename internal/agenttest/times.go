package agenttest

import (
	"regexp"
	"strings"
	"unicode"
)

// timeWords match times without a number: "an hour", "tomorrow at noon", "until Wed". No other
// abbreviations.
var timeWords = regexp.MustCompile(`(?i)sec|min|hour|hrs?\b|day|week|noon|midnight|tomorrow|tonight|month|\b(mon|tue|wed|thu|fri|sat|sun)\b`)

// MayStateATime reports whether a text can state a time. To parse a time from a text without one is the
// worst mistake.
func MayStateATime(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) || timeWords.MatchString(text)
}
