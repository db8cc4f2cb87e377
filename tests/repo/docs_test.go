package repo

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/configs"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

// What the code says and a document repeats is generated: `make docs` writes it.
func TestDocumentsSayWhatTheCodeSays(t *testing.T) {
	t.Chdir(root)
	for _, part := range []struct{ file, name, text string }{
		{"docs/faq.md", "remedies", remediesTable()},
		{"docs/configuration.md", "keys", configurationReference(t)},
		{"docs/commands.md", "reasons", reasonsTable(t)},
	} {
		data, err := os.ReadFile(part.file)
		require.NoError(t, err)
		before, rest, found := strings.Cut(string(data), "<!-- "+part.name+": begin -->\n")
		require.True(t, found, "%s has a part %s", part.file, part.name)
		is, after, found := strings.Cut(rest, "<!-- "+part.name+": end -->\n")
		require.True(t, found, "%s has an end of %s", part.file, part.name)
		if *update {
			text := before + "<!-- " + part.name + ": begin -->\n" + part.text + "<!-- " + part.name + ": end -->\n" + after
			require.NoError(t, os.WriteFile(part.file, []byte(text), 0o644))
			continue
		}
		for line := range strings.Lines(part.text) {
			if !strings.Contains(is, line) { // a whole document is too much to read
				t.Fatalf("%s does not say what the code says: make docs\n%s", part.file, line)
			}
		}
		require.Len(t, is, len(part.text), "%s says what the code does not: make docs", part.file)
	}
}

// The README counts the built-in agents, and its table has each of them.
func TestTheReadmeCountsTheAgents(t *testing.T) {
	t.Chdir(root)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, said := range []string{"agents: %d, and your own", "agents-%d_and_your_own", "| agents | %d, and your own |"} {
		require.Contains(t, string(readme), fmt.Sprintf(said, len(agents.Builtin())))
	}
	for _, b := range agents.Builtin() {
		require.Contains(t, string(readme), "["+b.Title+"](docs/agents/")
	}
}

// The table of the questions explains each of them, in order.
func TestTheQuestionsAreExplained(t *testing.T) {
	t.Chdir(root)
	faq, err := os.ReadFile("docs/faq.md")
	require.NoError(t, err)
	explained := regexp.MustCompile(`(?m)^\| \d+ \| \*\*(.*)\*\* \| .+\. \| .+\. \|$`).FindAllStringSubmatch(string(faq), -1)
	all := humanize.WhyNot(view.Session{State: resume.Settling}, time.Now()).Lines // a session that passes all but the last
	require.Len(t, explained, len(all))
	for i, row := range explained {
		require.True(t, strings.HasPrefix(all[i], row[1]+" "), all[i])
	}
}

func remediesTable() string {
	var b strings.Builder
	b.WriteString("| class | called | what to do |\n|---|---|---|\n")
	for _, class := range limit.Classes() {
		general := agents.Remedies("")[class]
		if general == "" {
			continue
		}
		var own []string
		for _, a := range agents.Builtin() {
			if words := agents.Remedies(a.Name)[class]; words != general {
				own = append(own, fmt.Sprintf("%s: %s", a.Title, words))
			}
		}
		if len(own) > 0 {
			general = strings.Join(own, "<br>") + "<br>others: " + general
		}
		general = strings.ReplaceAll(general, "{logs}", "`resumed logs SESSION`")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", class, class.Title(), general)
	}
	return b.String()
}

// reasonsTable lists each reason_kind, with what the source says of it.
func reasonsTable(t *testing.T) string {
	parsed, err := parser.ParseFile(token.NewFileSet(), "internal/resume/reason.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("| `reason_kind` | meaning |\n|---|---|\n")
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			kind, _ := literal(spec.Values[0])
			said := cmp.Or(strings.TrimSpace(spec.Comment.Text()), strings.TrimSpace(spec.Doc.Text()))
			require.NotEmpty(t, said, kind)
			fmt.Fprintf(&b, "| `%s` | %s |\n", kind, said)
		}
		return true
	})
	return b.String()
}

// table is a table of the configuration file.
type table struct {
	name string // as it is written: [log], [[agent]]
	of   reflect.Type
	at   reflect.Value // its defaults; of a table that may stand several times there are none
}

// configurationReference lists every key that the configuration knows: its type and
// default from the structs that it is read into, its meaning from the commented file that
// `config init` writes. A key without a comment there fails.
func configurationReference(t *testing.T) string {
	meanings := commentedKeys()
	var b strings.Builder
	for _, in := range tables("", reflect.ValueOf(config.Default())) {
		fmt.Fprintf(&b, "## `%s`\n\n", in.name)
		if in.of == reflect.TypeFor[config.NamedPolicy]() {
			b.WriteString("Every key of `[backoff]`, whose value it takes where it is not set, and:\n\n")
		}
		if _, channel := in.of.FieldByName("Channel"); channel {
			b.WriteString("It also has the keys of [every channel](#every-channel).\n\n")
		}
		rows := keysOf(t, in, meanings)
		if rows == "" {
			continue
		}
		b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n" + rows + "\n")
	}
	every := table{"every channel", reflect.TypeFor[config.Channel](), reflect.Value{}}
	b.WriteString("## Every channel\n\n| key | type | default | meaning |\n|---|---|---|---|\n" + keysOf(t, every, meanings))
	return b.String()
}

// tables returns a table of the file and those below it.
func tables(prefix string, v reflect.Value) []table {
	var all []table
	for _, f := range reflect.VisibleFields(v.Type()) {
		key := f.Tag.Get("toml")
		switch {
		case key == "" || key == "-":
		case isTable(f.Type):
			in := table{"[" + prefix + key + "]", f.Type, v.FieldByIndex(f.Index)}
			all = append(append(all, in), tables(prefix+key+".", in.at)...)
		case f.Type.Kind() == reflect.Slice && isTable(f.Type.Elem()):
			all = append(all, table{"[[" + prefix + key + "]]", f.Type.Elem(), reflect.Value{}})
		}
	}
	return all
}

// isTable tells a table from a value that has a struct of its own, such as a span of the day.
func isTable(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Tag.Get("toml") != "" })
}

func keysOf(t *testing.T, in table, meanings map[string]string) string {
	var b strings.Builder
	for _, f := range reflect.VisibleFields(in.of) {
		key := f.Tag.Get("toml")
		inherited := len(f.Index) > 1 && in.at == reflect.Value{} // the keys of [backoff] in a policy, of every channel in one
		if key == "" || key == "-" || isTable(f.Type) || f.Type.Kind() == reflect.Slice && isTable(f.Type.Elem()) || inherited {
			continue
		}
		meaning := meaningOf(in.name, key, meanings)
		require.NotEmpty(t, meaning, "configs/resumed.toml says nothing of %s in %s", key, in.name)
		value := ""
		if in.at.IsValid() {
			value = "`" + shown(in.at.FieldByIndex(f.Index)) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", key, typeWords(f.Type), value, strings.ReplaceAll(meaning, "|", "\\|"))
	}
	return b.String()
}

// meaningOf is what is said of a key. Of two by which the same can be said, such as url and
// url_file, the file shows one: "…; or url_file".
func meaningOf(table, key string, meanings map[string]string) string {
	base, isFile := strings.CutSuffix(key, "_file")
	said := meanings[table+" "+key]
	if isFile && (said == "" && meanings[table+" "+base] != "" || strings.HasSuffix(said, "; or "+base)) {
		return "a file of mode 0600 that holds what `" + base + "` would say"
	}
	if said == "" {
		said = meanings[table+" "+key+"_file"]
	}
	said, _, _ = strings.Cut(said, "; or "+key)
	return strings.TrimSuffix(said, "; or "+key+"_file")
}

func typeWords(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[time.Duration]():
		return "duration"
	case of == reflect.TypeFor[config.Size]():
		return "size"
	case of == reflect.TypeFor[config.Hours]():
		return "hours of the day"
	case of == reflect.TypeFor[config.Secret]():
		return "text, hidden when it is shown"
	case of == reflect.TypeFor[[]limit.Class]():
		return "list of classes"
	}
	switch of.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of texts"
	default:
		return "text"
	}
}

// shown is a default as it is written in the file.
func shown(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return `"` + humanize.Duration(value) + `"`
	case fmt.Stringer:
		return `"` + value.String() + `"`
	case []string:
		quoted := make([]string, len(value))
		for i, one := range value {
			quoted[i] = fmt.Sprintf("%q", one)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		if v.Kind() == reflect.String {
			return fmt.Sprintf("%q", v.String())
		}
		return fmt.Sprint(value)
	}
}

var (
	tomlHead = regexp.MustCompile(`^#?(\[\[?[a-z_.]+\]\]?)`)
	tomlKey  = regexp.MustCompile(`^#?([a-z_]+) = `)
	tomlSaid = regexp.MustCompile(`\s# (.*)$`)
	tomlMore = regexp.MustCompile(`^\s+# (.*)$`)
)

// commentedKeys returns what the commented file says of each key, by table and key. What
// one channel says of the keys that all have is said of every channel.
func commentedKeys() map[string]string {
	all := make(map[string]string)
	head, last := "", ""
	note := func(key, said string) {
		if last = head + " " + key; all[last] == "" {
			all[last] = said
		}
		if strings.HasPrefix(head, "[[notify.") && said != "" {
			all["every channel "+key] = said
		}
	}
	for line := range strings.Lines(configs.Template) {
		line = strings.TrimRight(line, "\n")
		if found := tomlHead.FindStringSubmatch(line); found != nil {
			head = found[1]
			continue
		}
		said := ""
		if found := tomlSaid.FindStringSubmatch(line); found != nil {
			said = found[1]
		}
		if found := tomlKey.FindStringSubmatch(line); found != nil {
			note(found[1], said)
		} else if found := tomlMore.FindStringSubmatch(line); found != nil && last != "" {
			all[last] += " " + found[1]
		} else {
			last = ""
		}
	}
	return all
}
