package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"resumed/internal/humanize"
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
	return json.Marshal(mirror(reflect.ValueOf(document{1, c.redacted()}), false, false))
}

// encode writes a file that Load reads as this very configuration.
func encode(c Config) string {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).EnableMarshalerInterface().Encode(mirror(reflect.ValueOf(c), true, false))
	if err != nil {
		panic(fmt.Sprintf("encode configuration: %v", err)) // a mirror has nothing that TOML has not
	}
	return b.String()
}

// mirror is what encoders are given instead of a configuration: they would
// write durations as numbers, and know neither the keys of a policy nor what
// of a secret may be shown. It has the keys of the file in their order. A brief
// one leaves out what an entry of an array does not say.
func mirror(v reflect.Value, brief, entry bool) any {
	switch kindOf(v.Type()) {
	case kindTable:
		var fields []reflect.StructField
		var values []any
		for key, f := range fieldsOf(v.Type()) {
			value := v.FieldByIndex(f.Index)
			if brief && silent(value, key, entry) {
				continue
			}
			tag := reflect.StructTag(fmt.Sprintf("toml:%q json:%[1]q", key))
			fields = append(fields, reflect.StructField{Name: f.Name, Type: reflect.TypeFor[any](), Tag: tag})
			values = append(values, mirror(value, brief, entry))
		}
		table := reflect.New(reflect.StructOf(fields)).Elem()
		for i, value := range values {
			table.Field(i).Set(reflect.ValueOf(value))
		}
		return table.Interface()
	case kindTables, kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = mirror(v.Index(i), brief, true)
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
func silent(v reflect.Value, key string, entry bool) bool {
	if v.Kind() != reflect.String && v.Kind() != reflect.Slice || v.Len() > 0 {
		return false
	}
	return kindOf(v.Type()) == kindTables || entry && key != "events"
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
		return humanize.Duration(value)
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

// redacted returns the configuration with its secrets hidden: tokens in URLs,
// signing secrets, and the values of environment variables.
func (c Config) redacted() Config {
	c.Agents = slices.Clone(c.Agents)
	for i := range c.Agents {
		env := slices.Clone(c.Agents[i].Env)
		for j, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			env[j] = name + "=" + hidden
		}
		c.Agents[i].Env = env
	}
	c.Notify.Webhook = slices.Clone(c.Notify.Webhook)
	for i := range c.Notify.Webhook {
		w := &c.Notify.Webhook[i]
		w.URL, w.Secret = hideURL(w.URL), Secret(w.Secret.String())
	}
	c.Notify.Service = slices.Clone(c.Notify.Service)
	for i := range c.Notify.Service {
		c.Notify.Service[i].URL = hideURL(c.Notify.Service[i].URL)
	}
	return c
}

// hideURL leaves of a URL what tells it from others: for the web its host, for
// a service its scheme only, because a service's token stands anywhere.
func hideURL(s Secret) Secret {
	u, err := url.Parse(s.Reveal())
	switch {
	case s == "":
		return ""
	case err != nil || u.Scheme == "":
		return hidden
	case u.Scheme == "http" || u.Scheme == "https":
		return Secret(u.Scheme + "://" + u.Host + "/" + hidden)
	default:
		return Secret(u.Scheme + "://" + hidden)
	}
}

// holdsSecret reports whether the file itself holds something to hide.
func (c Config) holdsSecret() bool {
	hasEnv := func(a Agent) bool { return len(a.Env) > 0 }
	return slices.ContainsFunc(c.Agents, hasEnv) ||
		slices.ContainsFunc(c.Notify.Webhook, func(w Webhook) bool { return w.URL != "" || w.Secret != "" }) ||
		slices.ContainsFunc(c.Notify.Service, func(s Service) bool { return s.URL != "" })
}

// String is the configuration as TOML, secrets hidden.
func (c Config) String() string { return c.TOML() }

// LogValue keeps a configuration that is logged from showing its secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
