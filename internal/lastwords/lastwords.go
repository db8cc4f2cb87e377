// Package lastwords finds in the end of a program's output why it failed.
package lastwords

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/sanitize"
)

// Limits for the text that is judged: a program prints in a few lines why it failed.
const (
	lastLines = 12
	lastBytes = 12 << 10
)

// stackFrame matches a line of a JavaScript stack trace, which is no reason.
var stackFrame = lazy.Regexp(`^\s+at .*[:(]`)

// Last returns the last lines of a text that are not blank, without a stack trace.
func Last(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), stackFrame().MatchString)
	first, size := len(lines), 0
	for taken := 0; first > 0 && taken < lastLines; first-- {
		line := lines[first-1]
		if strings.TrimSpace(line) == "" {
			continue
		}
		if size += len(line); size > lastBytes && taken > 0 {
			break
		}
		taken++
	}
	return strings.TrimSpace(strings.Join(lines[first:], "\n"))
}

// Judge finds in the last lines of a program why it failed, and returns the line that says it. Of
// several texts with a reason the first counts; but a text about a retry in progress counts last,
// because a program that has ended does not retry.
func Judge(reader limit.Reader, texts ...string) (limit.Verdict, string) {
	var unsure limit.Verdict
	var doubt string
	for _, text := range texts {
		v := reader.Text(text)
		words := gist(reader, text, v)
		if v.Class != limit.None && !v.InProgress {
			return v, words
		}
		switch {
		case unsure.Class != limit.None:
		case v.Class != limit.None:
			unsure, doubt = v, words
		default:
			doubt = cmp.Or(doubt, words)
		}
	}
	return unsure, doubt
}

const longestGist = 160

// gist returns the line of a text with that verdict, short enough to be shown; if there is none, the last
// line with words.
func gist(reader limit.Reader, text string, v limit.Verdict) (words string) {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		says := wordsOf(line)
		if !letters().MatchString(says) {
			continue
		}
		if v.Class != limit.None && reader.Text(line).Class == v.Class && !dumpedField().MatchString(line) {
			return sanitize.Short(says, longestGist)
		}
		if words == "" {
			words = sanitize.Short(says, longestGist)
		}
	}
	return words
}

// dumpedField matches a field of a printed object: the line above is clearer to people.
var dumpedField = lazy.Regexp(`^\s*\w+: \S+$`)

var letters = lazy.Regexp(`\pL{2}`)

type record struct {
	Result  string          `json:"result"`
	Message json.RawMessage `json:"message"`
	Error   json.RawMessage `json:"error"`
}

func wordsOf(line string) string {
	var r record
	if !strings.HasPrefix(strings.TrimSpace(line), "{") || json.Unmarshal([]byte(line), &r) != nil {
		return line
	}
	if r.Result != "" {
		return r.Result
	}
	for _, raw := range []json.RawMessage{r.Error, r.Message} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var inner struct {
			Message string `json:"message"`
			Data    struct {
				Message string `json:"message"`
			} `json:"data"`
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message+inner.Data.Message != "" {
			return inner.Message + inner.Data.Message
		}
	}
	return ""
}
