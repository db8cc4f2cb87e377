package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// Parse reads a record as Decode does, in a fraction of the time: most of a record is
// nothing that is asked for, and is passed over by a search for its end.
func Parse[R any](data []byte) (R, bool) {
	var r R
	v := reflect.ValueOf(&r).Elem()
	if plan := planOf(v.Type()); plan != nil && plan.fill(data, v) {
		return r, true
	}
	var whole R // what is unusual, or no JSON at all
	ok := Decode(data, &whole)
	return whole, ok
}

// plan is what is asked for of a record, by the names of its fields.
type plan map[string]wanted

type wanted struct {
	at     []int // the index of the field
	fields plan  // of one that is a struct itself
}

var plans sync.Map // of reflect.Type to plan

func planOf(t reflect.Type) plan {
	if known, ok := plans.Load(t); ok {
		return known.(plan)
	}
	made := makePlan(t)
	plans.Store(t, made)
	return made
}

// makePlan returns nil for what is no struct, or reads itself.
func makePlan(t reflect.Type) plan {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	made := make(plan)
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		if other, taken := made[name]; !taken || len(field.Index) < len(other.at) {
			made[name] = wanted{field.Index, makePlan(field.Type)}
		}
	}
	return made
}

// fill reads an object into a struct. It returns false for what it does not
// understand, and then nothing is to be believed that it has read.
func (p plan) fill(data []byte, into reflect.Value) bool {
	s := scan{data: data}
	if !s.next('{') {
		return false
	}
	for first := true; !s.next('}'); first = false {
		if !first && !s.next(',') {
			return false
		}
		name, ok := s.value()
		if !ok || len(name) < 2 || name[0] != '"' || !s.next(':') {
			return false
		}
		value, ok := s.value()
		if !ok {
			return false
		}
		if field, known := p[string(name[1:len(name)-1])]; known && !set(into.FieldByIndex(field.at), value, field.fields) {
			return false
		}
	}
	s.blank()
	return s.at == len(data)
}

// set reads a value into a field. One of an unexpected type leaves it as it is.
func set(field reflect.Value, value []byte, fields plan) bool {
	switch {
	case fields != nil && value[0] == '{':
		return fields.fill(value, field)
	case field.Type() == reflect.TypeFor[json.RawMessage]():
		field.SetBytes(bytes.Clone(value))
	case string(value) == "null" && field.Kind() != reflect.Slice:
	case field.Kind() == reflect.String && value[0] == '"' && plain(value):
		field.SetString(string(value[1 : len(value)-1]))
	case field.Type() == reflect.TypeFor[string]() && value[0] == '"':
		text, ok := Text(value)
		if ok {
			field.SetString(text)
		}
		return ok
	case field.Kind() == reflect.Bool && string(value) == "true":
		field.SetBool(true)
	case field.Kind() == reflect.Bool && string(value) == "false":
		field.SetBool(false)
	case field.Kind() == reflect.Slice && setList(field, value):
	case field.CanFloat() && isCount(value):
		field.SetFloat(float64(count(value)))
	case field.CanInt() && field.Kind() != reflect.Int8 && field.Kind() != reflect.Int16 && isCount(value) && field.Type().PkgPath() == "":
		field.SetInt(count(value))
	default:
		return Decode(value, field.Addr().Interface())
	}
	return true
}

// setList reads a list of structs, or of what is only kept, into a slice that has nothing
// yet. It returns false, and leaves the slice as it is, for any other.
func setList(field reflect.Value, value []byte) bool {
	of := field.Type().Elem()
	kept := of == reflect.TypeFor[json.RawMessage]()
	fields := planOf(of)
	if value[0] != '[' || !field.IsNil() || !kept && fields == nil {
		return false
	}
	items, ok := Items(value)
	if !ok {
		return false
	}
	list := reflect.MakeSlice(field.Type(), len(items), len(items))
	for i, item := range items {
		switch {
		case kept:
			list.Index(i).SetBytes(bytes.Clone(item))
		case item[0] != '{' || !fields.fill(item, list.Index(i)):
			return false
		}
	}
	field.Set(list)
	return true
}

// Items returns the values of a list, each as it stands there, or false for what is none.
func Items(list []byte) (items [][]byte, ok bool) {
	s := scan{data: list}
	if !s.next('[') {
		return nil, false
	}
	for first := true; !s.next(']'); first = false {
		if !first && !s.next(',') {
			return nil, false
		}
		item, ok := s.value()
		if !ok {
			return nil, false
		}
		items = append(items, item)
	}
	s.blank()
	return items, s.at == len(list)
}

// Text returns the text that a value is, or false for one that is none.
func Text(value []byte) (text string, ok bool) {
	if len(value) >= 2 && value[0] == '"' && closingQuote(value, 0) == len(value)-1 {
		if plain(value) {
			return string(value[1 : len(value)-1]), true
		}
		if text, ok := unescaped(value[1 : len(value)-1]); ok {
			return text, true
		}
	}
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// letters is what the letter after a backslash stands for, where it is one character.
var letters = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped returns what a text says, or false where that takes more than a look at
// each letter: characters by their number, and what is no JSON.
func unescaped(text []byte) (string, bool) {
	said := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			n = len(text)
		}
		if !plain(text[:n]) {
			return "", false
		}
		said = append(said, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		if len(text) < 2 || letters[text[1]] == 0 {
			return "", false
		}
		said = append(said, letters[text[1]])
		text = text[2:]
	}
	return string(said), true
}

// isCount reports whether a value is a number as things are counted, and small enough to
// be exactly that in whatever it is read into.
func isCount(value []byte) bool {
	const most = 9
	if len(value) == 0 || len(value) > most || value[0] == '0' && len(value) > 1 {
		return false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func count(value []byte) (n int64) {
	for _, c := range value {
		n = 10*n + int64(c-'0')
	}
	return n
}

// plain reports whether a text is what it says, without an escape.
func plain(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c < ' ' {
			return false
		}
	}
	return utf8.Valid(text)
}

// scan goes through JSON from value to value.
type scan struct {
	data []byte
	at   int
}

func (s *scan) blank() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\t' || s.data[s.at] == '\n' || s.data[s.at] == '\r') {
		s.at++
	}
}

// next passes over a mark, if it is the next one.
func (s *scan) next(mark byte) bool {
	s.blank()
	if s.at == len(s.data) || s.data[s.at] != mark {
		return false
	}
	s.at++
	return true
}

// deepest is how deep values lie in each other that are passed over here.
const deepest = 64

// marks is what a number or a name ends before.
var marks = func() (is [256]bool) {
	for _, c := range []byte(" \t\r\n,:]}[{\"") {
		is[c] = true
	}
	return is
}()

// value passes over a value and returns it. Of what lies in it no more is looked at
// than where it ends.
func (s *scan) value() (value []byte, ok bool) {
	s.blank()
	begin, depth := s.at, 0
	var lists uint64 // whether what was entered is a list, by depth
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '"':
			end := closingQuote(s.data, s.at)
			if end < 0 {
				return nil, false
			}
			s.at = end + 1
		case c == '{' || c == '[':
			if depth++; depth == deepest {
				return nil, false
			}
			lists = lists<<1 | uint64(c>>5&1^1)
			s.at++
			continue
		case c == '}' || c == ']':
			if depth == 0 || lists&1 != uint64(c>>5&1^1) {
				return nil, false
			}
			depth--
			lists >>= 1
			s.at++
		case c == ',' || c == ':' || c <= ' ':
			if depth == 0 {
				return nil, false
			}
			s.at++
			continue
		default: // a number or a name
			for s.at++; s.at < len(s.data) && !marks[s.data[s.at]]; s.at++ {
			}
			if s.at == len(s.data) {
				return nil, false
			}
		}
		if depth == 0 {
			return s.data[begin:s.at], true
		}
	}
	return nil, false
}
