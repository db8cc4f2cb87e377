package config

import (
	"bytes"

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

// entry is one key, table or array element of a document.
type entry struct {
	step
	name         string // the last part of the key
	kind         unstable.Kind
	data         string // of a scalar
	line, column int
}

// value returns the written value, for error messages.
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

// header records a [table] or [[table]] line and returns the place of its keys.
func (l *layout) header(e *unstable.Node) step {
	var at step
	for it := e.Key(); it.Next(); {
		part := it.Node()
		at = at.into(string(part.Data))
		last := it.IsLast()
		switch {
		case last && e.Kind == unstable.ArrayTable:
			l.note(at, string(part.Data), unstable.ArrayTable, "", part.Raw)
			n := l.tables[at.key]
			l.tables[at.key]++
			at = at.element(n)
			l.note(at, string(part.Data), unstable.Table, "", part.Raw)
		case l.tables[at.key] > 0:
			at = at.element(l.tables[at.key] - 1)
		default:
			l.note(at, string(part.Data), unstable.Table, "", part.Raw)
		}
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
