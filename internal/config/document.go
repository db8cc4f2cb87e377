package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// layout is where each key of a TOML document is. viper drops line numbers and the case of keys, so
// both are read here.
type layout struct {
	entries []entry
	byKey   map[string]int // index in entries
	values  map[string]any // the document itself

	parser unstable.Parser
	tables map[string]int // elements of each array of tables so far
}

type entry struct {
	step
	name         string // the last part of the key
	kind         unstable.Kind
	data         string // of a scalar
	line, column int
}

func (e entry) value() string {
	switch e.kind {
	case unstable.Table, unstable.ArrayTable:
		return ""
	case unstable.InlineTable:
		return "{…}"
	case unstable.Array:
		return "[…]"
	case unstable.String:
		return display(e.data)
	default:
		return e.data
	}
}

// find returns the entry of a key, or of the nearest table or array around it if the key is not
// written.
func (l *layout) find(key string) (e entry, exact bool) {
	for at := key; at != ""; at = around(at) {
		if i, ok := l.byKey[at]; ok {
			return l.entries[i], at == key
		}
	}
	return entry{}, false
}

// readLayout reads a document. Its error is a *Problem without a file.
func readLayout(data []byte) (*layout, error) {
	l := &layout{byKey: map[string]int{}, tables: map[string]int{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors write a byte order mark
	if p := foreignText(data); p != nil {
		return l, p
	}
	if err := toml.Unmarshal(data, &l.values); err != nil {
		return l, syntaxProblem(data, err)
	}
	l.parser.Reset(data)
	table := step{}
	for l.parser.NextExpression() {
		switch e := l.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = l.header(e)
		case unstable.KeyValue:
			l.keyValue(table, e)
		}
	}
	if err := l.parser.Error(); err != nil {
		return l, syntaxProblem(data, err)
	}
	return l, nil
}

// without returns the document without wrong values, so that they get their defaults and the rest can
// still be checked. It also drops keys that the schema does not know: viper is very slow with deep
// tables, and treats Level as level.
func (l *layout) without(wrong []*Problem) map[string]any {
	keys := map[string]bool{}
	for _, p := range wrong {
		keys[p.Key] = true
	}
	prune(step{}, l.values, keys)
	return l.values
}

func prune(at step, value any, wrong map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if in := at.into(name); !in.known() || wrong[in.key] {
				delete(v, name)
			} else {
				prune(in, v[name], wrong)
			}
		}
	case []any: // a wrong element stays, so that the others keep their index
		for i := range v {
			prune(at.element(i), v[i], wrong)
		}
	}
}

func (l *layout) header(e *unstable.Node) step {
	var at step
	for it := e.Key(); it.Next(); {
		part := it.Node()
		at = at.into(string(part.Data))
		if it.IsLast() && e.Kind == unstable.ArrayTable {
			l.note(at, string(part.Data), unstable.ArrayTable, "", part.Raw)
			l.tables[at.key]++
		}
		if n := l.tables[at.key]; n > 0 {
			at = at.element(n - 1)
		}
		l.note(at, string(part.Data), unstable.Table, "", part.Raw)
		if !at.known() {
			break
		}
	}
	return at
}

// keyValue records a key with its value, after the tables of a dotted key.
func (l *layout) keyValue(at step, e *unstable.Node) {
	for it := e.Key(); it.Next() && at.known(); {
		part := it.Node()
		at = at.into(string(part.Data))
		if !it.IsLast() {
			l.note(at, string(part.Data), unstable.Table, "", part.Raw)
			continue
		}
		l.value(at, string(part.Data), e.Value(), part.Raw)
	}
}

// value records a value and everything in it. Nodes without a position get the position of their key.
func (l *layout) value(at step, name string, v *unstable.Node, place unstable.Range) {
	data := string(v.Data)
	if v.Kind != unstable.String && v.Raw.Length > 0 {
		data = string(l.parser.Raw(v.Raw))
	}
	l.note(at, name, v.Kind, data, place)
	if !at.known() {
		return
	}
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			l.keyValue(at, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			element, where := it.Node(), place
			if element.Raw.Length > 0 {
				where = element.Raw
			}
			l.value(at.element(i), name, element, where)
		}
	}
}

func (l *layout) note(at step, name string, kind unstable.Kind, data string, place unstable.Range) {
	if _, known := l.byKey[at.key]; known {
		return
	}
	start := l.parser.Shape(place).Start
	l.byKey[at.key] = len(l.entries)
	l.entries = append(l.entries, entry{at, name, kind, data, start.Line, start.Column})
}

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
	if twice := regexp.MustCompile(`^key (\S+) is already defined$`).FindStringSubmatch(p.Want); twice != nil {
		p.Want = fmt.Sprintf("%s is set twice%s: keep one of them", twice[1], before(lines[:p.Line-1], twice[1]))
		return p
	}
	for _, s := range slips {
		said := regexp.MustCompile(s.said)
		if said.MatchString(p.Want) && regexp.MustCompile(s.line).Match(line) {
			p.Want = said.ReplaceAllString(p.Want, s.want)
			return p
		}
	}
	return p
}

const curlyQuotes = "“”„‟‘’‚‛«»‹›″′"

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
	line, said string // patterns, which are compiled only for a file that is wrong
	want       string
}{
	{anything, `^table (\S+) already exists$`, "[$1] is in the file twice: put all its keys under one of them"},
	{`^\s*[A-Za-z0-9_.-]+\s*=\s*(True|TRUE|False|FALSE|yes|no|on|off|Yes|No|On|Off)\s*(#.*)?$`, anything, "must be true or false, in small letters and without quotes"},
	{`^\s*[A-Za-z0-9_.-]+\s*=\s*[0-9.]+\s*%`, anything, "a number has no % sign: jitter_percent = 0.1 and weekly_reserve = 10 both mean 10 %"},
	{`^\s*(//|;|--|/\*|<!--)`, anything, "a comment begins with #"},
	{`^\s*[{}]`, anything, notTOML},
	{`^\s*[A-Za-z0-9_.-]+\s*:`, anything, "write = and not a colon: " + linesOfTOML},
	{`^\s*[A-Za-z0-9_.-]+\s*=\s*(#.*)?$`, anything, `the value is missing: write "" for empty text`},
	// The parser's error is about the letter after "inf" or "t".
	{`^\s*[A-Za-z0-9_.-]+\s*=\s*([A-Za-z~/$]|[0-9.]+[a-zA-Z])`, anything, `text and durations must be in quotes, such as "continue" or "30s"`},
	{anything, `^(basic|literal) strings cannot have new lines$`, "the quote at the end of the text is missing"},
	{anything, `^.*(escape|escaped character).*$`, `in double quotes a backslash has a meaning of its own: write the text in single quotes, such as '\d+'`},
	{anything, `^expected ',' or ']' after array value$`, "the list before it has no ] at its end, or a comma is missing in it"},
	{anything, `^expected '?]'? to close table name$`, "the ] after the name of the section is missing"},
	{anything, `^unexpected character U\+\S+ '(.+)' at start of value$`, `a value cannot begin with $1: text and durations must be in quotes, such as "continue" or "30s"`},
	{anything, `^invalid character at start of key: U\+\S+ '(.+)'$`, "a key cannot begin with $1: " + linesOfTOML},
	{anything, `^expected newline but got .*$`, "nothing but a comment may follow a value in its line"},
	{anything, `^expected '=' after key$`, "a key without a value: " + linesOfTOML},
}

const (
	anything    = `^.*$`
	linesOfTOML = `a line is key = "value", below the [section] that it belongs to`
	notTOML     = "this is not TOML: " + linesOfTOML
)

// check compares a document with the schema: unknown keys, wrong types, and text that its key does not
// accept.
func (l *layout) check() []*Problem {
	var found []*Problem
	for _, e := range l.entries {
		want, meant, value := "", "", e.value()
		if f, known := schema()[e.path]; known {
			want = f.mismatch(e)
			if f.secret {
				value = ""
			}
		} else if schema()[e.parent].kind == kindTable && !strings.HasSuffix(e.path, "[]") {
			want, meant = unknownKey(e)
			value = ""
		}
		if want != "" {
			found = append(found, &Problem{Line: e.line, Column: e.column, Key: e.key, Value: value, Want: want, meant: meant})
		}
	}
	return found
}

// mismatch returns what the field must be if e is something else, or "".
func (f field) mismatch(e entry) string {
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

// unknownKey reports an unknown key and the one that was likely meant: one in the same table, or one of
// the same name elsewhere; else it lists the keys. meant is the key in the same table, or "".
func unknownKey(e entry) (want, meant string) {
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
		return fmt.Sprintf("%s; did you mean %s?", what, near), strings.TrimPrefix(around(e.key)+"."+near, ".")
	case len(elsewhere) > 0:
		return fmt.Sprintf("%s here; did you mean %s?", what, strings.ReplaceAll(elsewhere[0], "[]", "")), ""
	case len(beside) <= mostListed:
		return what + "; valid here: " + strings.Join(beside, ", "), ""
	default:
		return what, ""
	}
}

const mostListed = 12
