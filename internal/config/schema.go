package config

import (
	"errors"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"resumed/internal/backoff"
	"resumed/internal/lazy"
	"resumed/internal/limit"
)

// schema holds every key by its path; the root is "". It is derived from Config, so that the two cannot
// disagree.
var schema = sync.OnceValue(func() map[string]field {
	all := map[string]field{}
	describe(all, "", "", reflect.ValueOf(Config{Backoff: Backoff{Policy: backoff.Default()}}))
	return all
})

type field struct {
	path     string // such as agent[].files[]
	kind     kind
	tag      reflect.StructTag // for an element of a list: the tag of the list
	secret   bool              // its value is never shown
	fallback any               // its default, as written in a file; nil: none
}

func (f field) scalar() bool { return f.kind >= kindString }

func describe(all map[string]field, path string, tag reflect.StructTag, v reflect.Value) {
	f := field{path: path, kind: kindOf(v.Type()), tag: tag}
	f.secret = v.Type() == reflect.TypeFor[Secret]() || tag.Get("secret") != ""
	text, written := tag.Lookup("default")
	switch {
	case f.kind == kindList && written:
		f.fallback = strings.Fields(text)
	case written:
		f.fallback = text
	case f.scalar() && !v.IsZero(): // the defaults of a policy are not in tags
		f.fallback = scalar(v)
	}
	all[path] = f
	switch f.kind {
	case kindTable:
		for key, ft := range fieldsOf(v.Type()) {
			describe(all, child(path, key), ft.Tag, v.FieldByIndex(ft.Index))
		}
	case kindTables, kindList:
		describe(all, path+"[]", tag, reflect.Zero(v.Type().Elem()))
	default: // a scalar
	}
}

// fallbacks returns the defaults of the keys of a table.
func fallbacks(table string) map[string]any {
	all := map[string]any{}
	for path, f := range schema() {
		if f.fallback != nil && around(path) == table {
			all[path[len(table)+1:]] = f.fallback
		}
	}
	return all
}

// visit calls do for each value of a configuration, outer values first.
func visit(at step, v reflect.Value, do func(step, field, reflect.Value)) {
	f := schema()[at.path]
	do(at, f, v)
	switch f.kind {
	case kindTable:
		for key, ft := range fieldsOf(v.Type()) {
			visit(at.into(key), v.FieldByIndex(ft.Index), do)
		}
	case kindTables, kindList:
		for i := range v.Len() {
			visit(at.element(i), v.Index(i), do)
		}
	default: // a scalar
	}
}

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

// fieldsOf yields the fields of a struct with their keys, in order, including those of embedded
// structs.
func fieldsOf(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if key := f.Tag.Get("toml"); key != "" && !yield(key, f) {
				return
			}
		}
	}
}

// step is a place in a file: as a key, such as agent[1].files[0], and as a path of the schema,
// agent[].files[], with its parent.
type step struct{ key, path, parent string }

// known reports whether the schema has the place. Everything below an unknown key is skipped: the key
// is reported already, and a hostile document can be deep.
func (s step) known() bool {
	_, ok := schema()[s.path]
	return ok
}

func (s step) into(name string) step {
	if !bareKey().MatchString(name) {
		name = strconv.Quote(name)
	}
	return step{child(s.key, name), child(s.path, name), s.path}
}

func (s step) element(i int) step { return step{index(s.key, i), s.path + "[]", s.path} }

var bareKey = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

func child(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// around removes the last part of a key or a path.
func around(key string) string {
	if i := strings.LastIndexAny(key, ".["); i > 0 {
		return key[:i]
	}
	return ""
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

func (n Notify) channels() map[string]Channel {
	all := map[string]Channel{}
	visit(step{}.into("notify"), reflect.ValueOf(n), func(at step, f field, v reflect.Value) {
		if f.kind == kindTable && at.path != "notify" {
			all[at.key] = v.FieldByName("Channel").Interface().(Channel)
		}
	})
	return all
}
