package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// foreignText recognizes files that are not UTF-8: the parser would complain about single letters.
func foreignText(data []byte) *Problem {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return &Problem{Line: 1, Column: 1, Want: "the file is UTF-16 text: save it as UTF-8"}
	case !utf8.Valid(data):
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		return &Problem{Line: line, Want: "the line has letters that are not UTF-8: save the file as UTF-8"}
	}
	return nil
}

// syntaxProblem describes a TOML syntax error as the mistake that people make there. It never shows the
// line itself, which may hold a secret.
func syntaxProblem(data []byte, err error) *Problem {
	p := &Problem{Want: strings.TrimPrefix(err.Error(), "toml: ")}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		p.Line, p.Column = e.Position()
	}
	lines := bytes.Split(data, []byte("\n"))
	if p.Line < 1 || p.Line > len(lines) {
		return p
	}
	line := lines[p.Line-1]
	if p.Column > 0 && p.Column <= len(line) {
		if r, _ := utf8.DecodeRune(line[p.Column-1:]); strings.ContainsRune(curlyQuotes, r) {
			p.Want = fmt.Sprintf("%c is a curly quote, as text editors make them: write \" or ' instead", r)
			return p
		}
	}
	if twice := keyTwice.FindStringSubmatch(p.Want); twice != nil {
		p.Want = fmt.Sprintf("%s is set twice%s: keep one of them", twice[1], before(lines[:p.Line-1], twice[1]))
		return p
	}
	for _, s := range slips {
		if s.line != nil && !s.line.Match(line) || !s.said.MatchString(p.Want) {
			continue
		}
		p.Want = s.said.ReplaceAllString(p.Want, s.want)
		return p
	}
	return p
}

const curlyQuotes = "“”„‟‘’‚‛«»‹›″′"

// keyTwice matches the parser's error about a duplicate key.
var keyTwice = regexp.MustCompile(`^key (\S+) is already defined$`)

// before returns in which line above a key was set first.
func before(lines [][]byte, key string) string {
	for i, line := range slices.Backward(lines) {
		name, _, found := bytes.Cut(line, []byte("="))
		if found && string(bytes.TrimSpace(name)) == key {
			return fmt.Sprintf(", first in line %d", i+1)
		}
	}
	return ""
}

// slips are the most common mistakes: a pattern of the line, a pattern of the parser's error, and the
// message instead. The first match is used.
var slips = []struct {
	line *regexp.Regexp // nil: any
	said *regexp.Regexp
	want string
}{
	{nil, regexp.MustCompile(`^table (\S+) already exists$`), "[$1] is in the file twice: put all its keys under one of them"},
	{regexp.MustCompile(`^\s*[A-Za-z0-9_.-]+\s*=\s*(True|TRUE|False|FALSE|yes|no|on|off|Yes|No|On|Off)\s*(#.*)?$`), anything, "must be true or false, in small letters and without quotes"},
	{regexp.MustCompile(`^\s*[A-Za-z0-9_.-]+\s*=\s*[0-9.]+\s*%`), anything, "a number has no % sign: jitter_percent = 0.1 and weekly_reserve = 10 both mean 10 %"},
	{regexp.MustCompile(`^\s*(//|;|--|/\*|<!--)`), anything, "a comment begins with #"},
	{regexp.MustCompile(`^\s*[{}]`), anything, notTOML},
	{regexp.MustCompile(`^\s*[A-Za-z0-9_.-]+\s*:`), anything, "write = and not a colon: " + linesOfTOML},
	{regexp.MustCompile(`^\s*[A-Za-z0-9_.-]+\s*=\s*(#.*)?$`), anything, `the value is missing: write "" for empty text`},
	// The parser's error is about the letter after "inf" or "t".
	{regexp.MustCompile(`^\s*[A-Za-z0-9_.-]+\s*=\s*([A-Za-z~/$]|[0-9.]+[a-zA-Z])`), anything, `text and durations must be in quotes, such as "continue" or "30s"`},
	{nil, regexp.MustCompile(`^(basic|literal) strings cannot have new lines$`), "the quote at the end of the text is missing"},
	{nil, regexp.MustCompile(`^.*(escape|escaped character).*$`), `in double quotes a backslash has a meaning of its own: write the text in single quotes, such as '\d+'`},
	{nil, regexp.MustCompile(`^expected ',' or ']' after array value$`), "the list before it has no ] at its end, or a comma is missing in it"},
	{nil, regexp.MustCompile(`^expected '?]'? to close table name$`), "the ] after the name of the section is missing"},
	{nil, regexp.MustCompile(`^unexpected character U\+\S+ '(.+)' at start of value$`), `a value cannot begin with $1: text and durations must be in quotes, such as "continue" or "30s"`},
	{nil, regexp.MustCompile(`^invalid character at start of key: U\+\S+ '(.+)'$`), "a key cannot begin with $1: " + linesOfTOML},
	{nil, regexp.MustCompile(`^expected newline but got .*$`), "nothing but a comment may follow a value in its line"},
	{nil, regexp.MustCompile(`^expected '=' after key$`), "a key without a value: " + linesOfTOML},
}

var anything = regexp.MustCompile(`^.*$`)

const (
	linesOfTOML = `a line is key = "value", below the [section] that it belongs to`
	notTOML     = "this is not TOML: " + linesOfTOML
)

// CheckTOML returns why a text is not TOML.
func CheckTOML(text []byte) error {
	var whole map[string]any
	return toml.Unmarshal(text, &whole)
}
