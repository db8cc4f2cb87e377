package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/lazy"
)

// Problem is one mistake in a configuration.
type Problem struct {
	File   string
	Line   int    // 0: unknown
	Column int    // 0: unknown
	Env    string // the variable that gave the value, if one did
	Key    string // such as backoff.max_delay or agent[1].files[0]; "" for invalid TOML
	Value  string // as it was written; "" if it was not, or is a secret
	Want   string // what to do

	meant   string   // the key that an unknown one was likely meant to be; "": it resembles none
	follows []string // keys: where one of them is wrong, this is only a consequence
}

func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" && p.Env == "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		if p.Column > 0 && p.Key == "" {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
		b.WriteString(": ")
	}
	switch {
	case p.Env != "":
		fmt.Fprintf(&b, "%s=%s: ", p.Env, p.Value)
	case p.Key != "" && p.Value != "":
		fmt.Fprintf(&b, "%s = %s: ", p.Key, p.Value)
	case p.Key != "":
		fmt.Fprintf(&b, "%s: ", p.Key)
	}
	b.WriteString(p.Want)
	return b.String()
}

func join(problems []*Problem) error {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

type problems []*Problem

func (ps *problems) add(key string, value any, want string, args ...any) {
	*ps = append(*ps, &Problem{Key: key, Value: display(value), Want: fmt.Sprintf(want, args...)})
}

func (ps *problems) check(ok bool, key string, value any, want string, args ...any) {
	if !ok {
		ps.add(key, value, want, args...)
	}
}

// follow marks the problems of a key as consequences where one of the other keys is wrong.
func (ps *problems) follow(key string, others ...string) {
	for _, p := range *ps {
		if p.Key == key {
			p.follows = append(p.follows, others...)
		}
	}
}

const longestDisplay = 80

// display returns a value as it is written in a file, shortened; "" for nil or a secret.
func display(value any) string {
	if _, secret := value.(Secret); secret || value == nil {
		return ""
	}
	s := fmt.Sprint(value)
	if text, ok := scalar(reflect.ValueOf(value)).(string); ok {
		s = strconv.Quote(text)
	}
	if runes := []rune(s); len(runes) > longestDisplay {
		s = string(runes[:longestDisplay]) + "…"
	}
	return s
}

// oneOf lists the allowed words, with the likeliest one.
func oneOf(value string, words []string) string {
	want := "must be one of " + strings.Join(words, ", ")
	if near := nearest(value, words); near != "" {
		want += fmt.Sprintf("; did you mean %s?", near)
	}
	return want
}

func nearest(word string, words []string) string {
	word = strings.ToLower(word)
	if word == "" {
		return ""
	}
	if best := closest(word, words, len(word)/3+2); best != "" {
		return best
	}
	for _, w := range words {
		if len(word) >= 3 && (strings.HasPrefix(w, word) || strings.HasPrefix(word, w)) {
			return w
		}
	}
	return ""
}

// closest returns the word with the least distance, if that is below a bound.
func closest(word string, words []string, below int) (best string) {
	for _, w := range words {
		if d := distance(word, strings.ToLower(w)); d < below {
			best, below = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, change or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), []int(nil)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

var plainName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// The length is not part of the pattern: one that counts is slow to compile, and every command that loads a configuration does that.
func wellFormed(name string) bool { return len(name) <= 64 && plainName().MatchString(name) }

// wellNamed refuses names that cannot be part of an account, a label or a command.
func (ps *problems) wellNamed(key, name string) bool {
	if name == "" {
		ps.add(key, nil, "must be set")
		return false
	}
	ok := wellFormed(name)
	ps.check(ok, key, name, "must be letters, digits, '.', '_' or '-', at most 64, beginning with a letter or digit")
	return ok
}

// uniqueName checks the name of a table. taken has the tables before it, by their names.
func (ps *problems) uniqueName(table, name string, taken map[string]string) {
	if ps.wellNamed(table+".name", name) {
		first, twice := taken[name]
		ps.check(!twice, table+".name", name, "must be unique: %s has it too", first)
		taken[name] = table
	}
}
