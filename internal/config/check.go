package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"resumed/internal/limit"
)

// check compares a document with the schema: unknown keys, wrong types, and
// text that is not what its key holds.
func (l layout) check() []*Problem {
	var found []*Problem
	for _, e := range l.entries {
		want, value := "", e.value()
		if f, known := schema()[e.path]; known {
			want = f.want(e)
			if f.secret {
				value = ""
			}
		} else if schema()[e.parent].kind == kindTable && !strings.HasSuffix(e.path, "[]") {
			want, value = unknownKey(e), ""
		}
		if want != "" {
			found = append(found, &Problem{Line: e.line, Column: e.column, Key: e.key, Value: value, Want: want})
		}
	}
	return found
}

// want says what the field must be where e is something else, or "".
func (f field) want(e entry) string {
	switch f.kind {
	case kindTable:
		if e.kind != unstable.Table && e.kind != unstable.InlineTable {
			if strings.HasSuffix(f.path, "[]") {
				return "must be a table"
			}
			return fmt.Sprintf("must be a table: [%s]", f.path)
		}
	case kindTables:
		if e.kind != unstable.ArrayTable && e.kind != unstable.Array {
			return fmt.Sprintf("must be an array of tables: [[%s]]", f.path)
		}
	case kindList:
		if e.kind != unstable.Array {
			return `must be a list, such as ["…"]`
		}
	case kindInt:
		if e.kind != unstable.Integer {
			return "must be a whole number, without quotes"
		}
	case kindFloat:
		if e.kind != unstable.Float && e.kind != unstable.Integer {
			return "must be a number, without quotes"
		}
	case kindBool:
		if e.kind != unstable.Bool {
			return "must be true or false, without quotes"
		}
	default:
		if e.kind != unstable.String {
			return f.wantText()
		}
		return f.readText(e.data)
	}
	return ""
}

// wantText says what the text of a field must be.
func (f field) wantText() string {
	switch f.kind {
	case kindDuration:
		return wantDuration
	case kindSize:
		return wantSize
	case kindHours:
		return wantHours
	default:
		return "must be a string, in quotes"
	}
}

// readText says what is wrong with the text of a field, or "".
func (f field) readText(s string) string {
	var err error
	switch f.kind {
	case kindDuration:
		_, err = ParseDuration(s)
	case kindSize:
		_, err = ParseSize(s)
	case kindHours:
		_, err = ParseHours(s)
	case kindClass:
		if _, bad := limit.ParseClass(s); bad != nil {
			return oneOf(s, classNames())
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// fromText reads a value of the environment as what the field holds. It says
// what is wanted where the text is something else.
func (f field) fromText(s string) (value any, want string) {
	var err error
	switch f.kind {
	case kindInt:
		if value, err = strconv.Atoi(s); err != nil {
			want = "must be a whole number"
		}
	case kindFloat:
		if value, err = strconv.ParseFloat(s, 64); err != nil {
			want = "must be a number"
		}
	case kindBool:
		if value, err = strconv.ParseBool(s); err != nil {
			want = "must be true or false"
		}
	default:
		value, want = s, strings.Replace(f.readText(s), ", in quotes", "", 1)
	}
	return value, want
}

func classNames() []string {
	var names []string
	for _, c := range limit.Classes() {
		names = append(names, c.String())
	}
	return names
}

// unknownKey says that a key is unknown, and which one was likely meant: one
// beside it, or one of that very name elsewhere.
func unknownKey(e entry) string {
	var beside, elsewhere []string
	for _, path := range slices.Sorted(maps.Keys(schema())) {
		if strings.HasSuffix(path, "[]") || path == "" {
			continue
		}
		table, name := around(path), path[strings.LastIndex(path, ".")+1:]
		if table == e.parent {
			beside = append(beside, name)
		} else if strings.EqualFold(name, e.name) {
			elsewhere = append(elsewhere, path)
		}
	}
	if near := nearest(e.name, beside); near != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", near)
	}
	if len(elsewhere) > 0 {
		return fmt.Sprintf("unknown key here; did you mean %s?", strings.ReplaceAll(elsewhere[0], "[]", ""))
	}
	return "unknown key"
}
