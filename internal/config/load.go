package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"resumed/internal/ownership"
)

// Load reads the file over the defaults, the environment over both, and checks the result. An empty
// path means no file. Its error holds all problems, each a *Problem, in the order of the file.
func Load(path string, known Known) (Config, error) {
	if path == "" {
		return Parse("", nil, known)
	}
	data, err := ReadFile(path)
	if wrong, ok := errors.AsType[*ownership.Error](err); ok {
		return Config{}, &Problem{File: path, Want: "is not obeyed: " + wrong.Error()}
	}
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data, known)
}

// Parse is Load with the content of the file at path.
func Parse(path string, data []byte, known Known) (Config, error) {
	doc, err := readLayout(data)
	if p, ok := errors.AsType[*Problem](err); ok {
		p.File = path
		return Config{}, p
	}
	env, found := readEnvironment()
	wrong := doc.check()
	found = append(found, wrong...)

	file := doc.without(wrong)
	given := givesBackoff(file, env)
	settings, err := merge(file, env)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	cfg, err := decode(settings)
	cfg.Backoff.Given = given
	if err != nil && len(found) == 0 {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	found = append(found, beyond(found, cfg.resolvePaths(path))...)
	found = append(found, beyond(found, cfg.validate(known))...)
	found = append(found, beyond(found, cfg.foreignFiles())...)
	if len(found) > 0 {
		for _, p := range found {
			locate(p, path, doc, env)
		}
		return Config{}, join(found)
	}
	return cfg, nil
}

// givesBackoff reports whether a key of the default policy is set.
func givesBackoff(file map[string]any, env map[string]override) bool {
	table, _ := file["backoff"].(map[string]any)
	inFile := len(table)
	if _, named := table["policy"]; named {
		inFile--
	}
	inEnv := func(key string) bool { return strings.HasPrefix(key, "backoff.") }
	return inFile > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(env)), inEnv)
}

// keyDelimiter is not a dot, so that viper does not split keys that contain one.
const keyDelimiter = "::"

// merge uses viper to put the file over the defaults, and the environment over both.
func merge(file map[string]any, env map[string]override) (map[string]any, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	for path, f := range schema() {
		if f.kind == kindTable && around(path) == "" && path != "" {
			v.SetDefault(path, fallbacks(path))
		}
	}
	var err error
	for key, o := range env {
		err = errors.Join(err, v.BindEnv(strings.ReplaceAll(key, ".", keyDelimiter), o.name))
	}
	if err = errors.Join(err, v.MergeConfigMap(file)); err != nil {
		return nil, err
	}
	settings := v.AllSettings()
	inherit(settings)
	return settings, nil
}

func inherit(settings map[string]any) {
	fill(settings["agent"], fallbacks("agent[]"))

	backoff, _ := settings["backoff"].(map[string]any)
	policy := maps.Clone(backoff)
	delete(policy, "policy")
	fill(backoff["policy"], policy)

	notify, _ := settings["notify"].(map[string]any)
	for _, channels := range notify { // other values of notify have no entries
		fill(channels, map[string]any{"events": notify["events"]})
	}
	fill(notify["webhook"], fallbacks("notify.webhook[]"))
}

func fill(entries any, values map[string]any) {
	list, _ := entries.([]any)
	for _, entry := range list {
		table, _ := entry.(map[string]any)
		for key, value := range values {
			if _, said := table[key]; table != nil && !said {
				table[key] = value
			}
		}
	}
}

func decode(settings map[string]any) (Config, error) {
	var cfg Config
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:      &cfg,
		TagName:     "toml",
		Squash:      true,
		ErrorUnused: true,
		MatchName:   func(key, name string) bool { return key == name },
		DecodeHook:  decodeText,
	})
	if err == nil {
		err = d.Decode(settings)
	}
	if len(cfg.Notify.channels()) == 0 {
		cfg.Notify.Desktop = []Desktop{{Channel{Name: "desktop", Events: slices.Clone(cfg.Notify.Events)}}}
	}
	visit(step{}, reflect.ValueOf(&cfg).Elem(), func(_ step, _ field, v reflect.Value) {
		if v.Kind() == reflect.Slice && v.Len() == 0 {
			v.SetZero() // so that equal files are equal
		}
	})
	return cfg, err
}

func decodeText(_, to reflect.Type, data any) (any, error) {
	if text, ok := data.(string); ok {
		return readText(kindOf(to), text)
	}
	return data, nil
}

// beyond drops problems that follow from known ones: of keys that are wrong already or misspelled, because
// the check saw their defaults, and of keys whose bounds come from such a key.
func beyond(known, more []*Problem) []*Problem {
	wrong := map[string]bool{}
	for _, p := range known {
		wrong[p.Key] = true
		wrong[p.meant] = true
	}
	isWrong := func(key string) bool {
		for ; key != ""; key = around(key) {
			if wrong[key] {
				return true
			}
		}
		return false
	}
	return slices.DeleteFunc(more, func(p *Problem) bool { return isWrong(p.Key) || slices.ContainsFunc(p.follows, isWrong) })
}

func locate(p *Problem, path string, doc *layout, env map[string]override) {
	if o, ok := env[p.Key]; ok {
		p.Env, p.Value = o.name, display(o.text)
	}
	if p.Env != "" {
		return
	}
	if p.File = path; p.Line > 0 {
		return
	}
	e, exact := doc.find(p.Key)
	p.Line, p.Column = e.line, e.column
	switch {
	case p.Value == "":
	case exact:
		p.Value = e.value()
	case p.Value != `""`:
		p.Value += " (not set here)" // it is the default, or inherited
	}
}

// Default returns the configuration without a file and an environment.
func Default() Config {
	settings, err := merge(nil, nil)
	cfg, wrong := decode(settings)
	if err := errors.Join(err, wrong); err != nil {
		panic(fmt.Sprintf("default configuration: %v", err)) // a tag of Config is wrong
	}
	return cfg
}

// At adds the places of the values to problems that were found when the configuration of the file at
// path was used.
func At(path string, found []*Problem) error {
	doc := new(layout)
	if data, err := ReadFile(path); err == nil {
		doc, _ = readLayout(data) // on an error the file has changed since: no line is given
	}
	env, _ := readEnvironment()
	for _, p := range found {
		locate(p, path, doc, env)
	}
	return join(found)
}

const envPrefix = "RESUMED_"

type override struct {
	name string // of the variable
	text string
}

// envName returns the variable that overrides a key, or "": only single values of a section can be
// overridden.
func envName(f field) string {
	if !f.scalar() || strings.Contains(f.path, "[]") || strings.Count(f.path, ".") != 1 {
		return ""
	}
	return envVariable(f.path)
}

func envVariable(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// readEnvironment returns the values from the environment, by key. An empty variable is ignored.
func readEnvironment() (map[string]override, []*Problem) {
	found := map[string]override{}
	var bad []*Problem
	for _, path := range slices.Sorted(maps.Keys(schema())) {
		name := envName(schema()[path])
		text := os.Getenv(name)
		if name == "" || text == "" {
			continue
		}
		if _, err := readText(schema()[path].kind, text); err != nil { // a variable needs no quotes
			want := strings.NewReplacer(", in quotes", "", ", without quotes", "").Replace(err.Error())
			bad = append(bad, &Problem{Env: name, Key: path, Value: display(text), Want: want})
			continue
		}
		found[path] = override{name, text}
	}
	return found, bad
}
