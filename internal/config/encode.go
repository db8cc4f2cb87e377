package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// TOML writes the configuration as a file that Load reads as the same one;
// with redact, its secrets are hidden.
func (c Config) TOML(redact bool) string {
	if redact {
		c = c.Redacted()
	}
	var b strings.Builder
	writeTable(&b, "", reflect.ValueOf(c))
	return strings.TrimLeft(b.String(), "\n")
}

// JSON writes the configuration with the keys and values of the file, and the
// version of the document; with redact, its secrets are hidden.
func (c Config) JSON(redact bool) ([]byte, error) {
	if redact {
		c = c.Redacted()
	}
	document := tree(reflect.ValueOf(c)).(map[string]any)
	document["version"] = 1
	return json.MarshalIndent(document, "", "  ")
}

// MarshalJSON is JSON with the secrets hidden.
func (c Config) MarshalJSON() ([]byte, error) { return c.JSON(true) }

// writeTable writes a table's own keys, then the tables in it.
func writeTable(b *strings.Builder, path string, v reflect.Value) {
	element := strings.HasSuffix(path, "[]")
	for key, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		switch kindOf(f.Type) {
		case kindTable, kindTables:
		default:
			// An entry of an array shows what it has. Its events are shown
			// always: without the key it would inherit some.
			if element && key != "events" && !hasValue(value) {
				continue
			}
			b.WriteString(key + " = " + literal(value) + "\n")
		}
	}
	for key, f := range fieldsOf(v.Type()) {
		value, at := v.FieldByIndex(f.Index), join2(path, key)
		switch kindOf(f.Type) {
		case kindTable:
			b.WriteString("\n[" + at + "]\n")
			writeTable(b, at, value)
		case kindTables:
			for i := range value.Len() {
				b.WriteString("\n[[" + at + "]]\n")
				writeTable(b, at+"[]", value.Index(i))
			}
		}
	}
}

// hasValue tells what was said from what was left out. Numbers and booleans
// always say something.
func hasValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice:
		return v.Len() > 0
	default:
		return true
	}
}

// literal writes a scalar or a list of scalars as TOML.
func literal(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = literal(v.Index(i))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	switch s := scalar(v).(type) {
	case string:
		return quote(s)
	case float64:
		text := strconv.FormatFloat(s, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case bool:
		return strconv.FormatBool(s)
	default:
		return strconv.FormatInt(v.Int(), 10)
	}
}

// scalar returns a value as it stands in a file: a string, a number or a bool.
func scalar(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return FormatDuration(value)
	case Secret:
		return value.Reveal()
	case encoding.TextMarshaler:
		text, _ := value.MarshalText() // sizes, hours and classes cannot fail
		return string(text)
	}
	if v.Kind() == reflect.String {
		return v.String() // also of named strings
	}
	return v.Interface()
}

// quote writes a TOML basic string. JSON's escapes are TOML's too; only DEL
// has to be escaped besides.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string into memory cannot fail
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// tree is a value as maps, lists and scalars, under the keys of the file.
func tree(v reflect.Value) any {
	switch kindOf(v.Type()) {
	case kindTable:
		table := map[string]any{}
		for key, f := range fieldsOf(v.Type()) {
			table[key] = tree(v.FieldByIndex(f.Index))
		}
		return table
	case kindTables, kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = tree(v.Index(i))
		}
		return list
	default:
		return scalar(v)
	}
}
