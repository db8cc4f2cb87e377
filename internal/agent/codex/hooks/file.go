package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// name is the name of Codex for `resumed hook`.
const name = "codex"

// schemaLine is what editors expect in the first line of a file.
const schemaLine = "#:schema"

var errNotify = errors.New("notify in it is not a list of texts")

// element is a string of a list, with its position.
type element struct {
	start, end int
	value      string
}

// setting is the notify program in a configuration.
type setting struct {
	line, next int // the offsets of its first line and of the line after it
	list       int // the offset of the list
	words      []element
}

// ours returns how many of the words were added by resumed: the call, and the "--" before the
// program that was configured earlier.
func (s *setting) ours() int {
	w := s.words
	if len(w) < 3 || filepath.Base(w[0].value) != "resumed" || w[1].value != "hook" || w[2].value != name {
		return 0
	}
	if len(w) > 3 && w[3].value == "--" {
		return 4
	}
	return 3
}

// Add returns a configuration that calls program, which then calls the earlier notify program.
func Add(config []byte, program, _ string) ([]byte, error) {
	call := quoteWord(program) + `, "hook", "` + name + `"`
	found, err := notifyIn(config)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		at := 0
		if bytes.HasPrefix(config, []byte(schemaLine)) {
			at = bytes.IndexByte(config, '\n') + 1
		}
		return slices.Insert(bytes.Clone(config), at, []byte("notify = ["+call+"]\n")...), nil
	case found.ours() > 0:
		first := found.words[0]
		return slices.Replace(bytes.Clone(config), first.start, first.end, []byte(quoteWord(program))...), nil
	}
	call += `, "--"`
	if len(found.words) > 0 {
		call += ", "
	}
	return slices.Insert(bytes.Clone(config), found.list+1, []byte(call)...), nil
}

// Remove returns a configuration without any call of resumed.
func Remove(config []byte) ([]byte, error) {
	found, err := notifyIn(config)
	if err != nil || found == nil {
		return config, err
	}
	count := found.ours()
	switch {
	case count == 0:
		return config, nil
	case count == 3 && len(found.words) == 3:
		return slices.Delete(bytes.Clone(config), found.line, found.next), nil
	}
	end := found.words[count-1].end
	if count < len(found.words) {
		end += bytes.IndexByte(config[end:], ',') + 1
		if config[end] == ' ' {
			end++
		}
	}
	return slices.Delete(bytes.Clone(config), found.words[0].start, end), nil
}

// Calls returns the path of the resumed that a configuration calls; "": none.
func Calls(config []byte) string {
	found, err := notifyIn(config)
	if err != nil || found == nil || found.ours() == 0 {
		return ""
	}
	return found.words[0].value
}

// notifyIn finds the notify program among the settings before all tables; nil: there is none.
func notifyIn(config []byte) (*setting, error) {
	for at := 0; at < len(config); {
		line := at
		for at < len(config) && strings.ContainsRune(" \t\r\n", rune(config[at])) {
			if config[at] == '\n' {
				line = at + 1
			}
			at++
		}
		if at == len(config) || config[at] == '[' {
			return nil, nil
		}
		if config[at] == '#' {
			at = lineEnd(config, at)
			continue
		}
		equals := bytes.IndexByte(config[at:lineEnd(config, at)], '=')
		if equals < 0 {
			return nil, errors.New("it is not valid TOML")
		}
		key := strings.Trim(string(bytes.TrimSpace(config[at:at+equals])), `"'`)
		start := at + equals + 1
		for start < len(config) && (config[start] == ' ' || config[start] == '\t') {
			start++
		}
		words, end, ok := valueAt(config, start)
		if end < 0 {
			return nil, errors.New("it is not valid TOML")
		}
		if key == "notify" {
			if !ok {
				return nil, errNotify
			}
			return &setting{line: line, next: min(len(config), lineEnd(config, end)+1), list: start, words: words}, nil
		}
		at = lineEnd(config, end)
	}
	return nil, nil
}

func lineEnd(text []byte, at int) int {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(text)
}

// valueAt parses the value at an offset. It returns its end, -1 if it has none, and its strings, if
// it is a list of only strings.
func valueAt(text []byte, at int) (words []element, end int, ok bool) {
	open, others := 0, at < len(text) && text[at] != '['
	for at < len(text) {
		switch c := text[at]; {
		case c == '"' || c == '\'':
			length, value := textAt(text[at:])
			if length == 0 {
				return nil, -1, false
			}
			words = append(words, element{at, at + length, value})
			at += length
			continue
		case c == '#':
			at = lineEnd(text, at)
			continue
		case c == '[' || c == '{':
			open++
			others = others || open > 1 || c == '{'
		case c == ']' || c == '}':
			if open--; open == 0 {
				return words, at + 1, !others
			}
		case c == '\n' && open == 0:
			return words, at, false
		case !strings.ContainsRune(" \t\r\n,", rune(c)):
			others = true
		}
		at++
	}
	if open > 0 {
		return nil, -1, false
	}
	return words, at, false
}

// textAt parses the string at the beginning of text. It returns its length with all quotes, or zero
// if it has no end.
func textAt(text []byte) (length int, value string) {
	mark := text[:1]
	if triple := bytes.Repeat(mark, 3); bytes.HasPrefix(text, triple) {
		mark = triple
	}
	for i := len(mark); i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark[0] == '"':
			i++
		case text[i] == '\n' && len(mark) == 1:
			return 0, ""
		case bytes.HasPrefix(text[i:], mark):
			inner := text[len(mark):i]
			for i+len(mark) < len(text) && len(mark) == 3 && text[i+3] == mark[0] {
				i++ // additional quotes at the end belong to the string
			}
			value = string(inner)
			if mark[0] == '"' {
				_ = json.Unmarshal([]byte(`"`+value+`"`), &value) // else it was not written by resumed
			}
			return i + len(mark), value
		}
	}
	return 0, ""
}

// quoteWord returns a TOML string. Escapes of JSON are also valid in TOML.
func quoteWord(word string) string {
	if quoted := strconv.Quote(word); !strings.Contains(quoted, `\`) {
		return quoted
	}
	quoted, _ := json.Marshal(word)
	return string(quoted)
}
