package agenttest

import (
	"regexp"
	"strings"
	"unicode"
)

// timeWords are those by which a time is stated without a number: "an hour",
// "tomorrow at noon", "until Wed". Other abbreviations are none.
var timeWords = regexp.MustCompile(`(?i)sec|min|hour|hrs?\b|day|week|noon|midnight|tomorrow|tonight|month|\b(mon|tue|wed|thu|fri|sat|sun)\b`)

// MayStateATime reports whether a text holds anything that a time can be read
// from. Times that nobody stated are the worst that can be read.
func MayStateATime(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) || timeWords.MatchString(text)
}
