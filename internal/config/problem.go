package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Problem is one thing in a configuration that cannot be meant.
type Problem struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`   // 0: unknown
	Column int    `json:"column,omitempty"` // 0: unknown
	Env    string `json:"env,omitempty"`    // the variable that gave the value, if one did
	Key    string `json:"key,omitempty"`    // such as backoff.max_delay or agent[1].files[0]; "" for TOML that cannot be read
	Value  string `json:"value,omitempty"`  // as it was written; "" where nothing was, or where it is a secret
	Want   string `json:"want"`             // what to do about it
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

// Problems returns the problems that an error of Load or Validate is made of,
// in the order of the file.
func Problems(err error) []*Problem {
	if p, ok := errors.AsType[*Problem](err); ok && error(p) == err {
		return []*Problem{p}
	}
	var all []*Problem
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			all = append(all, Problems(part)...)
		}
	case interface{ Unwrap() error }:
		return Problems(e.Unwrap())
	}
	return all
}

// join sorts problems by their place and makes one error of them.
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

// problems collects what is wrong with a configuration.
type problems []*Problem

func (ps *problems) add(key string, value any, want string, args ...any) {
	*ps = append(*ps, &Problem{Key: key, Value: display(value), Want: fmt.Sprintf(want, args...)})
}

// check adds a problem unless ok.
func (ps *problems) check(ok bool, key string, value any, want string, args ...any) {
	if !ok {
		ps.add(key, value, want, args...)
	}
}

const longestDisplay = 80

// display writes a value as it would stand in a file, shortened. A nil value
// or a secret is not written at all.
func display(value any) string {
	var s string
	switch v := value.(type) {
	case nil, Secret:
		return ""
	case string:
		s = strconv.Quote(v)
	case time.Duration:
		s = strconv.Quote(FormatDuration(v))
	case fmt.Stringer:
		s = strconv.Quote(v.String())
	default:
		s = fmt.Sprint(v)
	}
	if runes := []rune(s); len(runes) > longestDisplay {
		s = string(runes[:longestDisplay]) + "…"
	}
	return s
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// oneOf says what an enumerated value must be, with the likeliest one.
func oneOf(value string, words []string) string {
	want := "must be one of " + strings.Join(words, ", ")
	if near := nearest(value, words); near != "" {
		want += fmt.Sprintf("; did you mean %s?", near)
	}
	return want
}
