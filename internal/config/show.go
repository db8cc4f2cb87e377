package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// String returns the configuration as a file, with secrets hidden.
func (c Config) String() string { return c.encode(true) }

// MarshalJSON writes the keys and values of the file and the version of the document, with secrets
// hidden.
func (c Config) MarshalJSON() ([]byte, error) {
	type document struct {
		Version int `toml:"version"`
		Config
	}
	return json.Marshal(mirror(step{}, reflect.ValueOf(document{1, c}), false, true))
}

// encode writes a file. With its secrets, Load reads it as the same configuration.
func (c Config) encode(hide bool) string {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).EnableMarshalerInterface().Encode(mirror(step{}, reflect.ValueOf(c), true, hide))
	if err != nil {
		panic(fmt.Sprintf("encode configuration: %v", err)) // a mirror holds only types that TOML has
	}
	return b.String()
}

// mirror converts a configuration for encoders: they would write durations as numbers, and know neither
// the keys of a policy nor which part of a secret may be shown. It has the keys of the file in order.
// With brief, it omits what silent reports.
func mirror(at step, v reflect.Value, brief, hide bool) any {
	switch kindOf(v.Type()) {
	case kindTable:
		var fields []reflect.StructField
		var values []any
		backoff, _ := v.Interface().(Backoff)
		for key, f := range fieldsOf(v.Type()) {
			value := v.FieldByIndex(f.Index)
			fallback := at.path == "backoff" && key != "policy" && !backoff.Given // a key that is set would count for outages too
			if brief && silent(at.into(key), value) {
				continue
			}
			tag := reflect.StructTag(fmt.Sprintf("toml:%q json:%[1]q commented:\"%t\"", key, fallback))
			fields = append(fields, reflect.StructField{Name: f.Name, Type: reflect.TypeFor[any](), Tag: tag})
			values = append(values, mirror(at.into(key), value, brief, hide))
		}
		table := reflect.New(reflect.StructOf(fields)).Elem()
		for i, value := range values {
			table.Field(i).Set(reflect.ValueOf(value))
		}
		return table.Interface()
	case kindTables, kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = mirror(at.element(i), v.Index(i), brief, hide)
		}
		return list
	default:
	}
	text, ok := scalar(v).(string)
	switch {
	case !ok:
		return v.Interface()
	case hide && schema()[at.path].secret:
		return quoted(redact(at, text))
	default:
		return quoted(text)
	}
}

// silent reports whether a value is left out of the file. The events of a channel are always written:
// without the key the channel would inherit some.
func silent(at step, v reflect.Value) bool {
	if v.Kind() != reflect.String && v.Kind() != reflect.Slice || v.Len() > 0 {
		return false
	}
	return kindOf(v.Type()) == kindTables || strings.Contains(at.path, "[]") && !strings.HasSuffix(at.path, ".events")
}

// quoted is text that is written in double quotes in TOML. The encoder would use single ones.
type quoted string

// MarshalTOML uses JSON's escapes, which are valid in TOML; only DEL must be escaped in addition.
func (q quoted) MarshalTOML() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(string(q))
	return bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte("\x7f"), []byte(`\u007f`)), err
}

// redact returns the part of a secret that may be shown: the name of a variable, the host of a web URL.
// Of a service URL it is only the scheme, because the token can be anywhere in it.
func redact(at step, text string) string {
	if name, _, found := strings.Cut(text, "="); found && at.path == "agent[].env[]" {
		return name + "=" + hidden
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case err != nil || u.Scheme == "" || !strings.HasSuffix(at.path, ".url"):
		return hidden
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Scheme + "://" + u.Host + "/" + hidden
	default:
		return u.Scheme + "://" + hidden
	}
}

func (c Config) holdsSecret() bool {
	holds := false
	visit(step{}, reflect.ValueOf(c), func(_ step, f field, v reflect.Value) { holds = holds || f.secret && v.Len() > 0 })
	return holds
}

// LogValue hides the secrets from logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
