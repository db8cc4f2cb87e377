package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// TOML is the configuration as a file has it, with its secrets hidden.
func (c Config) TOML() string { return encode(c.redacted()) }

// MarshalJSON writes the configuration with the keys and values of the file,
// and the version of the document; its secrets are hidden.
func (c Config) MarshalJSON() ([]byte, error) {
	type document struct {
		Version int
		Config
	}
	return json.Marshal(mirror(reflect.ValueOf(document{1, c.redacted()}), "", false))
}

// encode writes a file that Load reads as this very configuration.
func encode(c Config) string {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).EnableMarshalerInterface().Encode(mirror(reflect.ValueOf(c), "", true))
	if err != nil {
		panic(fmt.Sprintf("encode configuration: %v", err)) // a mirror has nothing that TOML has not
	}
	return b.String()
}

// mirror is what encoders are given instead of a configuration: they would
// write durations as numbers, and know neither the keys of a policy nor what
// of a secret may be shown. It has the keys of the file in their order. A brief
// one leaves out what an entry of an array does not say.
func mirror(v reflect.Value, path string, brief bool) any {
	switch kindOf(v.Type()) {
	case kindTable:
		var fields []reflect.StructField
		var values []any
		for key, f := range fieldsOf(v.Type()) {
			value := v.FieldByIndex(f.Index)
			if brief && silent(value, path, key) {
				continue
			}
			tag := reflect.StructTag(fmt.Sprintf("toml:%q json:%[1]q", key))
			fields = append(fields, reflect.StructField{Name: f.Name, Type: reflect.TypeFor[any](), Tag: tag})
			values = append(values, mirror(value, join2(path, key), brief))
		}
		table := reflect.New(reflect.StructOf(fields)).Elem()
		for i, value := range values {
			table.Field(i).Set(reflect.ValueOf(value))
		}
		return table.Interface()
	case kindTables, kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = mirror(v.Index(i), path+"[]", brief)
		}
		return list
	default:
		if text, ok := scalar(v).(string); ok {
			return quoted(text)
		}
		return v.Interface()
	}
}

// silent tells what was left out from what was said. The events of a channel
// always say something: without the key it would inherit some.
func silent(v reflect.Value, path, key string) bool {
	if v.Kind() != reflect.String && v.Kind() != reflect.Slice || v.Len() > 0 {
		return false
	}
	return kindOf(v.Type()) == kindTables || strings.HasSuffix(path, "[]") && key != "events"
}

// quoted is text that TOML has in double quotes, as people write it. The
// encoder would choose single ones.
type quoted string

// MarshalTOML uses that JSON's escapes are TOML's too; only DEL has to be
// escaped besides.
func (q quoted) MarshalTOML() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(string(q))
	return bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte("\x7f"), []byte(`\u007f`)), err
}

// scalar returns a value as it stands in a file: a string, a number or a bool.
func scalar(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return FormatDuration(value)
	case Secret:
		return value.Reveal()
	case fmt.Stringer:
		return value.String()
	}
	if v.Kind() == reflect.String {
		return v.String() // also of named strings
	}
	return v.Interface()
}
