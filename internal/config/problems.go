package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"resumed/internal/limit"
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

// join sorts problems by position and joins them into one error.
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

// problems collects the problems of a configuration.
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

// check compares a document with the schema: unknown keys, wrong types, and text that its key does not
// accept.
func (l *layout) check() []*Problem {
	var found []*Problem
	for _, e := range l.entries {
		want, value := "", e.value()
		if f, known := schema()[e.path]; known {
			want = f.want(e)
			if f.secret {
				value = ""
			}
		} else if schema()[e.parent].kind == kindTable && !strings.HasSuffix(e.path, "[]") {
			want, value = unknownKey(e), ""
		}
		if want != "" {
			found = append(found, &Problem{Line: e.line, Column: e.column, Key: e.key, Value: value, Want: want})
		}
	}
	return found
}

// forms says how a kind is written, and the message if it is not.
var forms = map[kind]struct {
	want  string
	nodes []unstable.Kind
}{
	kindList:     {`must be a list, such as ["…"]`, []unstable.Kind{unstable.Array}},
	kindInt:      {"must be a whole number, without quotes", []unstable.Kind{unstable.Integer}},
	kindFloat:    {"must be a number, without quotes", []unstable.Kind{unstable.Float, unstable.Integer}},
	kindBool:     {"must be true or false, without quotes", []unstable.Kind{unstable.Bool}},
	kindDuration: {wantDuration, []unstable.Kind{unstable.String}},
	kindSize:     {wantSize, []unstable.Kind{unstable.String}},
	kindHours:    {wantHours, []unstable.Kind{unstable.String}},
	kindString:   {"must be a string, in quotes", []unstable.Kind{unstable.String}},
	kindClass:    {"must be a string, in quotes", []unstable.Kind{unstable.String}},
	kindTable:    {"must be a section in single brackets", []unstable.Kind{unstable.Table, unstable.InlineTable}},
	kindTables:   {"must be a section in double brackets", []unstable.Kind{unstable.ArrayTable, unstable.Array}},
}

// want returns what the field must be if e is something else, or "".
func (f field) want(e entry) string {
	form := forms[f.kind]
	switch {
	case slices.Contains(form.nodes, e.kind):
		if e.kind == unstable.String {
			if _, err := readText(f.kind, e.data); err != nil {
				return err.Error()
			}
		}
		return ""
	case f.kind == kindTables:
		return form.want + ": [[" + f.path + "]]"
	case f.kind == kindTable && !strings.HasSuffix(f.path, "[]"):
		return form.want + ": [" + f.path + "]"
	case f.kind == kindInt && e.kind == unstable.Float:
		return "must be a whole number" + scales[f.path]
	default:
		return form.want + scales[f.path]
	}
}

// scales explains the unit of numbers that are a share: both percent and fraction are in use.
var scales = map[string]string{
	"resume.weekly_reserve":           ": 10 is 10 %",
	"backoff.jitter_percent":          ": 0.1 is 10 %",
	"backoff.policy[].jitter_percent": ": 0.1 is 10 %",
}

// readText parses text as the value of a key of that kind.
func readText(k kind, s string) (value any, err error) {
	switch k {
	case kindDuration:
		return ParseDuration(s)
	case kindSize:
		return parseSize(s)
	case kindHours:
		return parseHours(s)
	case kindClass:
		if value, err = limit.ParseClass(s); err != nil {
			err = errors.New(oneOf(s, classNames()))
		}
		return value, err
	case kindInt:
		value, err = strconv.Atoi(s)
	case kindFloat:
		value, err = strconv.ParseFloat(s, 64)
	case kindBool:
		value, err = strconv.ParseBool(s)
	default:
		return s, nil
	}
	if err != nil {
		err = errors.New(forms[k].want)
	}
	return value, err
}

func classNames() []string {
	var names []string
	for _, c := range limit.Classes() {
		names = append(names, c.String())
	}
	return names
}

// unknownKey reports an unknown key and the one that was likely meant: one in the same table, or one of
// the same name elsewhere; else it lists the keys.
func unknownKey(e entry) string {
	var beside, elsewhere []string
	for _, path := range slices.Sorted(maps.Keys(schema())) {
		if strings.HasSuffix(path, "[]") || path == "" {
			continue
		}
		table, name := around(path), path[strings.LastIndex(path, ".")+1:]
		if table == e.parent {
			beside = append(beside, name)
		} else if strings.EqualFold(name, e.name) {
			elsewhere = append(elsewhere, path)
		}
	}
	what := "unknown key"
	if e.parent == "" && (e.kind == unstable.Table || e.kind == unstable.ArrayTable) {
		what = "unknown section"
	}
	switch near := nearest(e.name, beside); {
	case near != "":
		return fmt.Sprintf("%s; did you mean %s?", what, near)
	case len(elsewhere) > 0:
		return fmt.Sprintf("%s here; did you mean %s?", what, strings.ReplaceAll(elsewhere[0], "[]", ""))
	case len(beside) <= mostListed:
		return what + "; valid here: " + strings.Join(beside, ", ")
	default:
		return what
	}
}

// mostListed is how many keys a message may list.
const mostListed = 12

// nearest returns the word that was likely meant, or "".
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
