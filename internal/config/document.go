package config

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"resumed/internal/limit"
)

// schema holds every key, under its path. It is derived from Config, so that
// the two cannot disagree. The root is under "".
var schema = sync.OnceValue(func() map[string]field {
	all := map[string]field{}
	describe(all, "", reflect.TypeFor[Config]())
	return all
})

// field is one key that a file may have.
type field struct {
	path   string // such as agent[].files[]
	kind   kind
	secret bool
}

// scalar reports whether the field holds a single value.
func (f field) scalar() bool { return f.kind >= kindString }

func describe(all map[string]field, path string, t reflect.Type) {
	f := field{path: path, kind: kindOf(t), secret: isSecret(path, t)}
	all[path] = f
	switch f.kind {
	case kindTable:
		for key, ft := range fieldsOf(t) {
			describe(all, child(path, key), ft.Type)
		}
	case kindTables, kindList:
		describe(all, path+"[]", t.Elem())
	default: // a scalar
	}
}

// kind is what a key may hold.
type kind uint8

const (
	kindTable  kind = iota + 1
	kindTables      // an array of tables
	kindList        // an array of scalars
	kindString
	kindInt
	kindFloat
	kindBool
	kindDuration
	kindSize
	kindHours
	kindClass
)

// isSecret tells the keys whose values are never shown.
func isSecret(path string, t reflect.Type) bool {
	return t == reflect.TypeFor[Secret]() || strings.HasPrefix(path, "agent[].env") && !strings.HasPrefix(path, "agent[].env_")
}

func kindOf(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return kindDuration
	case reflect.TypeFor[Size]():
		return kindSize
	case reflect.TypeFor[Hours]():
		return kindHours
	case reflect.TypeFor[limit.Class]():
		return kindClass
	}
	switch t.Kind() {
	case reflect.Struct:
		return kindTable
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return kindTables
		}
		return kindList
	case reflect.Bool:
		return kindBool
	case reflect.Float64:
		return kindFloat
	case reflect.Int:
		return kindInt
	default:
		return kindString
	}
}

// fieldsOf yields a struct's fields with their keys, in their order; those of
// embedded structs stand among them.
func fieldsOf(t reflect.Type) func(yield func(string, reflect.StructField) bool) {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous || !f.IsExported() {
				continue
			}
			if !yield(keyOf(f), f) {
				return
			}
		}
	}
}

func keyOf(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("toml"), ","); tag != "" {
		return tag
	}
	return snake(f.Name)
}

// snake writes BaseDelay as base_delay: a policy need not know how files spell it.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// child is the path of a key in a table.
func child(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// layout is what stands where in a TOML document. viper forgets lines and the
// case of keys, so both are read here.
type layout struct {
	entries []entry
	byKey   map[string]int // index in entries
	values  map[string]any // the document itself
}

// entry is one key, table or array element of a document.
type entry struct {
	key          string // agent[1].files[0]
	path         string // agent[].files[]: its place in the schema
	parent       string // agent[].files: the place around it
	name         string // the last part of the key
	kind         unstable.Kind
	data         string // of a scalar
	line, column int
}

// value is what was written, for people.
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

// find returns the entry of a key, or of the nearest table or array around it
// where the key itself is not written.
func (l layout) find(key string) (e entry, exact bool) {
	for at := key; at != ""; at = around(at) {
		if i, ok := l.byKey[at]; ok {
			return l.entries[i], at == key
		}
	}
	return entry{}, false
}

// around cuts the last part off a key or a path.
func around(key string) string {
	if i := strings.LastIndexAny(key, ".["); i > 0 {
		return key[:i]
	}
	return ""
}

// readLayout reads a document. Its error is a *Problem without a file.
func readLayout(data []byte) (layout, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin with it
	if p := foreignText(data); p != nil {
		return layout{}, p
	}
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		return layout{}, syntaxProblem(data, err)
	}
	r := layoutReader{byKey: map[string]int{}, tables: map[string]int{}}
	for i, b := range data {
		if b == '\n' {
			r.newlines = append(r.newlines, i)
		}
	}
	r.parser.Reset(data)
	table := step{}
	for r.parser.NextExpression() {
		switch e := r.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = r.header(e)
		case unstable.KeyValue:
			r.keyValue(table, e)
		}
	}
	if err := r.parser.Error(); err != nil {
		return layout{}, syntaxProblem(data, err)
	}
	return layout{entries: r.entries, byKey: r.byKey, values: whole}, nil
}

// without returns the document without what is wrong in it, which then has its
// default and the rest can still be judged; nor what the schema does not know:
// viper takes forever over deep tables, and takes Level for level.
func (l layout) without(wrong []*Problem) map[string]any {
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
	case []any: // what is wrong in it stays: the others keep their numbers
		for i := range v {
			prune(at.element(i), v[i], wrong)
		}
	}
}

// layoutReader walks a document once.
type layoutReader struct {
	newlines []int // offsets
	parser   unstable.Parser
	entries  []entry
	byKey    map[string]int
	tables   map[string]int // how many elements an array of tables has by now
}

// step is a place in the document: as a key, and as a path of the schema.
type step struct{ key, path, parent string }

// known reports whether the schema has the place. What lies below an unknown
// one is passed over: it has been told, and a hostile document is deep.
func (s step) known() bool {
	_, ok := schema()[s.path]
	return ok
}

func (s step) into(name string) step {
	if !bareKey.MatchString(name) {
		name = strconv.Quote(name)
	}
	return step{child(s.key, name), child(s.path, name), s.path}
}

func (s step) element(i int) step { return step{index(s.key, i), s.path + "[]", s.path} }

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// header notes a [table] or [[table]] line and returns where its keys go.
func (r *layoutReader) header(e *unstable.Node) step {
	var at step
	for it := e.Key(); it.Next(); {
		part := it.Node()
		at = at.into(string(part.Data))
		last := it.IsLast()
		switch {
		case last && e.Kind == unstable.ArrayTable:
			r.note(at, string(part.Data), unstable.ArrayTable, "", part.Raw)
			n := r.tables[at.key]
			r.tables[at.key]++
			at = at.element(n)
			r.note(at, string(part.Data), unstable.Table, "", part.Raw)
		case r.tables[at.key] > 0:
			at = at.element(r.tables[at.key] - 1)
		default:
			r.note(at, string(part.Data), unstable.Table, "", part.Raw)
		}
		if !at.known() {
			break
		}
	}
	return at
}

// keyValue notes a key with its value; the tables of a dotted key come first.
func (r *layoutReader) keyValue(at step, e *unstable.Node) {
	for it := e.Key(); it.Next() && at.known(); {
		part := it.Node()
		at = at.into(string(part.Data))
		if !it.IsLast() {
			r.note(at, string(part.Data), unstable.Table, "", part.Raw)
			continue
		}
		r.value(at, string(part.Data), e.Value(), part.Raw)
	}
}

// value notes a value and all that is in it. Nodes that know no place of their
// own stand where their key stands.
func (r *layoutReader) value(at step, name string, v *unstable.Node, place unstable.Range) {
	data := string(v.Data)
	if v.Kind != unstable.String && v.Raw.Length > 0 {
		data = string(r.parser.Raw(v.Raw))
	}
	r.note(at, name, v.Kind, data, place)
	if !at.known() {
		return
	}
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			r.keyValue(at, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			element, where := it.Node(), place
			if element.Raw.Length > 0 {
				where = element.Raw
			}
			r.value(at.element(i), name, element, where)
		}
	}
}

func (r *layoutReader) note(at step, name string, kind unstable.Kind, data string, place unstable.Range) {
	if _, known := r.byKey[at.key]; known {
		return
	}
	line, column := r.position(int(place.Offset))
	r.byKey[at.key] = len(r.entries)
	r.entries = append(r.entries, entry{
		key: at.key, path: at.path, parent: at.parent, name: name,
		kind: kind, data: data, line: line, column: column,
	})
}

// position returns the line and column of an offset, both counting from 1, the
// column in bytes as the parser's own errors have it.
func (r *layoutReader) position(offset int) (line, column int) {
	line, _ = slices.BinarySearch(r.newlines, offset)
	start := 0
	if line > 0 {
		start = r.newlines[line-1] + 1
	}
	return line + 1, offset - start + 1
}
