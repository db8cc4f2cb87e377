package config

import (
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"resumed/internal/limit"
)

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

// field is one key that a file may have.
type field struct {
	path   string // such as agent[].files[]
	kind   kind
	secret bool
}

// scalar reports whether the field holds a single value.
func (f field) scalar() bool { return f.kind >= kindString }

// schema holds every key, under its path. It is derived from Config, so that
// the two cannot disagree. The root is under "".
var schema = sync.OnceValue(func() map[string]field {
	all := map[string]field{}
	describe(all, "", reflect.TypeFor[Config]())
	return all
})

func describe(all map[string]field, path string, t reflect.Type) {
	f := field{path: path, kind: kindOf(t), secret: isSecret(path, t)}
	all[path] = f
	switch f.kind {
	case kindTable:
		for key, ft := range fieldsOf(t) {
			describe(all, join2(path, key), ft.Type)
		}
	case kindTables, kindList:
		describe(all, path+"[]", t.Elem())
	}
}

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

func join2(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
