package limit

import (
	"strconv"
	"strings"

	"resumed/internal/limit/token"
)

// field is a key with a plain value, as in JSON or a printed struct.
type field struct {
	key    string // lower case, without separators
	value  string
	quoted bool // the value was quoted
}

const mostFields = 400

// splitFields removes the structured part of a message and returns its fields, and the message with
// "{}" in its place. The structure may be truncated, or be the inside of an object.
func splitFields(s string) (fields []field, rest string) {
	start, end := structure(s)
	if start < 0 {
		return nil, s
	}
	inside := s[start:end]
	if strings.HasPrefix(strings.TrimLeft(inside, "{[ \t\r\n"), `\"`) {
		inside = strings.ReplaceAll(inside, `\"`, `"`)
	}
	if fields = scanFields(inside); len(fields) == 0 {
		return nil, s
	}
	return fields, s[:start] + "{}" + s[end:]
}

// structure finds the outermost braces, or a message that begins with a key.
func structure(s string) (start, end int) {
	start = strings.IndexByte(s, '{')
	if lead := strings.TrimLeft(s, " \t"); startsWithKey(lead) {
		start = len(s) - len(lead)
		return start, len(s)
	}
	if start < 0 {
		return -1, -1
	}
	if end = strings.LastIndexByte(s, '}') + 1; end <= start {
		end = len(s)
	}
	return start, end
}

func startsWithKey(s string) bool {
	if !strings.HasPrefix(s, `"`) {
		return false
	}
	_, n := scanString(s)
	return strings.HasPrefix(strings.TrimLeft(s[n:], " \t"), ":")
}

func scanFields(s string) []field {
	var out []field
	for i := 0; i < len(s) && len(out) < mostFields; {
		var key string
		n := 0
		switch {
		case s[i] == '"' || s[i] == '\'' && opens(s, i):
			key, n = scanString(s[i:])
		case token.IsAlnum(s[i]):
			key, n = scanName(s[i:])
		default:
			i++
			continue
		}
		i += n
		value := strings.TrimLeft(s[i:], " \t\r\n")
		if !strings.HasPrefix(value, ":") {
			continue
		}
		value = strings.TrimPrefix(strings.TrimLeft(value[1:], " \t\r\n"), "Some(") // as Rust prints an optional value
		f := field{key: plainKey(key)}
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			f.value, n = scanString(value)
			f.quoted = true
		} else {
			f.value, n = scanName(value)
		}
		switch {
		case f.value != "":
			out = append(out, f)
		case f.key == "error" && value != "" && strings.IndexByte("{[", value[0]) >= 0:
			out = append(out, field{key: "failure"})
		}
		i = len(s) - len(value) + n
	}
	return out
}

// opens reports whether the single quote at s[i] begins a string, as in a printed dictionary, and is
// not an apostrophe.
func opens(s string, i int) bool {
	before := strings.TrimRight(s[:i], " \t\r\n")
	return before != "" && strings.IndexByte("{[,:(", before[len(before)-1]) >= 0
}

// closes reports whether the quote at s[i] ends the string that it is in. An apostrophe in a
// single-quoted string does not.
func closes(s string, i int) bool {
	if s[i] == '"' || i+1 >= len(s) {
		return true
	}
	return strings.IndexByte(",:}]) \t\r\n", s[i+1]) >= 0
}

// scanString reads a quoted string and returns it and its length with quotes. A truncated string ends
// with the input.
func scanString(s string) (value string, n int) {
	for n = 1; n < len(s); n++ {
		switch {
		case s[n] == '\\':
			n++
		case s[n] == s[0] && closes(s, n):
			return unescape(s[1:n]), n + 1
		}
	}
	return s[min(1, len(s)):], len(s)
}

func unescape(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	if v, err := strconv.Unquote(`"` + strings.ReplaceAll(raw, `\/`, "/") + `"`); err == nil {
		return v
	}
	return strings.ReplaceAll(raw, `\"`, `"`)
}

// scanName reads a bare name, number, true, false or null.
func scanName(s string) (string, int) {
	n := 0
	for n < len(s) && (token.IsAlnum(s[n]) || s[n] == '_' || s[n] == '.' || s[n] == '-' || s[n] == '+') {
		n++
	}
	return s[:n], n
}

func plainKey(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, token.Lower(key))
}
