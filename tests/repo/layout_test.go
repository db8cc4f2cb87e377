// Package repo has the tests of the repository as a whole: which room may know which, and what documents say.
package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is where the repository begins. A test goes there by itself, so that go test sees which files it reads.
const root = "../.."

// arrows says which package may import which. Arrows go down; siblings meet in
// app. A package that is not listed may import none of ours.
var arrows = map[string][]string{
	"cmd/resumed": {
		"configs", "internal/agents", "internal/app", "internal/atomicfile", "internal/backoff", "internal/buildinfo", "internal/caller", "internal/commandline", "internal/plain", "internal/config", "internal/config/edit", "internal/control",
		"internal/demo", "internal/dirs", "internal/doctor", "internal/execrun", "internal/explain", "internal/fleet/member", "internal/fleet/natskv", "internal/hint", "internal/humanize",
		"internal/journal", "internal/lease", "internal/limit", "internal/logging", "internal/process", "internal/procfs", "internal/prompt", "internal/notify", "internal/notify/channels", "internal/queue", "internal/resume", "internal/resume/view", "internal/runfiles", "internal/runner",
		"internal/sanitize", "internal/service", "internal/shell", "internal/shellinit", "internal/starts", "internal/state", "internal/terminal/shellpty", "internal/terminal/tmux", "internal/termui", "internal/usage", "internal/wake",
	},
	"internal/demo": {
		"internal/agents", "internal/app", "internal/buildinfo", "internal/config", "internal/control", "internal/humanize", "internal/notify", "internal/resume", "internal/sanitize", "internal/termui", "internal/wake",
	},
	"internal/service": {
		"internal/resume", "internal/resume/view",
		"internal/agents", "internal/atomicfile", "internal/config", "internal/control", "internal/dirs", "internal/hint", "internal/humanize", "internal/lazy", "internal/ownership",
		"internal/program", "internal/sanitize", "launchd", "systemd",
	},
	"internal/doctor": {
		"internal/agents", "internal/config", "internal/control", "internal/dirs", "internal/fleet/natskv", "internal/humanize", "internal/mounts",
		"internal/notify/desktop", "internal/ownership", "internal/program", "internal/resume", "internal/resume/view", "internal/sanitize", "internal/state",
	},
	"cmd/resumed-hub": {
		"internal/buildinfo", "internal/commandline", "internal/dirs", "internal/fleet/natskv", "internal/hub", "internal/humanize", "internal/logging", "internal/sanitize",
	},
	"internal/app": {
		"internal/runenv", "internal/starts",
		"internal/agent", "internal/agents", "internal/backend", "internal/budget/ownkey", "internal/caller", "internal/config", "internal/config/reload", "internal/control", "internal/deliver", "internal/feed",
		"internal/fleet/member", "internal/fsevents", "internal/humanize", "internal/journal", "internal/lease", "internal/metrics", "internal/midturn", "internal/mounts", "internal/notify", "internal/notify/*", "internal/ownership", "internal/process", "internal/procfs", "internal/resume", "internal/resume/engine", "internal/resume/view",
		"internal/queue", "internal/runner", "internal/sdnotify", "internal/state", "internal/webui",
		"internal/usage",
	},
	"internal/midturn": {"internal/agent", "internal/process", "internal/procfs", "internal/resume", "internal/wake"},
	"internal/deliver": {
		"internal/program", "internal/runenv", "internal/starts",
		"internal/agent", "internal/childenv", "internal/humanize", "internal/leash", "internal/lease", "internal/ownership", "internal/process", "internal/prompt", "internal/resume", "internal/resume/view", "internal/runfiles", "internal/runner", "internal/sanitize", "internal/terminal", "internal/terminal/*",
	},
	"internal/backend": {
		"internal/agent", "internal/agents", "internal/budget/ownkey", "internal/caller", "internal/control", "internal/deliver", "internal/feed", "internal/fleet/member", "internal/journal", "internal/limit", "internal/notify", "internal/process", "internal/queue", "internal/sanitize",
		"internal/resume", "internal/resume/engine", "internal/resume/view", "internal/runfiles", "internal/runner", "internal/state", "internal/usage", "internal/webui",
	},
	"internal/budget/ownkey": {"internal/agents", "internal/budget", "internal/config", "internal/resume", "internal/resume/view"},
	"internal/queue":         {"internal/agent", "internal/agents", "internal/config", "internal/control", "internal/journal", "internal/resume", "internal/resume/engine", "internal/resume/view", "internal/state", "internal/usage"},
	"internal/sdnotify":      {"internal/humanize", "internal/resume", "internal/wake"},
	"internal/usage":         {"internal/resume", "internal/wake"},
	"internal/feed":          {"internal/lines", "internal/agent", "internal/ownership", "internal/resume", "internal/runner", "internal/sanitize", "internal/watch"},
	"internal/journal":       {"internal/control", "internal/notify", "internal/resume", "internal/resume/view", "internal/sanitize", "internal/state"},
	"internal/metrics":       {"internal/limit", "internal/notify", "internal/resume", "internal/usage"},
	"internal/explain": {
		"internal/headless", "internal/agent", "internal/agents", "internal/budget", "internal/sanitize", "internal/config", "internal/explain/*", "internal/leash", "internal/limit", "internal/prompt", "internal/resume", "internal/resume/view", "internal/lastwords", "internal/lazy",
	},
	"internal/explain/*": {
		"internal/headless", "internal/lines", "internal/agent", "internal/agent/*", "internal/agent/*/*", "internal/explain/recording", "internal/lazy", "internal/limit", "internal/resume",
	},
	"internal/explain/recording": {
		"internal/headless", "internal/lines", "internal/agent", "internal/limit", "internal/resume",
	},
	"internal/agents":          {"internal/starts", "internal/agent", "internal/agent/*", "internal/config", "internal/lazy", "internal/limit", "internal/ownership", "internal/process", "internal/program", "internal/resume", "internal/resume/view", "internal/usage"},
	"internal/execrun":         {"internal/agent", "internal/backoff", "internal/childenv", "internal/humanize", "internal/sanitize", "internal/lease", "internal/limit", "internal/lastwords", "internal/procfs", "internal/resume", "internal/headless", "internal/starts"},
	"internal/commandline":     {"internal/buildinfo", "internal/hint", "internal/logging", "internal/plain", "internal/sanitize"},
	"internal/logging":         {"internal/sanitize"},
	"internal/lastwords":       {"internal/lazy", "internal/sanitize", "internal/limit"},
	"internal/config":          {"internal/dirs", "internal/backoff", "internal/budget", "internal/humanize", "internal/lazy", "internal/limit", "internal/ownership", "internal/prompt", "internal/resume"},
	"internal/config/reload":   {"internal/config", "internal/fsevents", "internal/mounts", "internal/ownership"},
	"internal/config/edit":     {"internal/atomicfile", "internal/config"},
	"internal/state":           {"internal/atomicfile", "internal/backoff", "internal/fsevents", "internal/lock", "internal/outbox", "internal/regular", "internal/resume", "internal/wake"},
	"internal/lease":           {"internal/atomicfile", "internal/lock", "internal/regular"},
	"internal/lock":            {"internal/backoff", "internal/regular"},
	"internal/caller":          {"internal/lazy", "internal/peer", "internal/procfs", "internal/resume"},
	"internal/peer":            {"internal/procfs", "internal/resume"},
	"internal/control":         {"internal/caller", "internal/dirs", "internal/fsevents", "internal/lazy", "internal/peer", "internal/procfs", "internal/resume", "internal/resume/view", "internal/usage", "internal/wake"},
	"internal/termui":          {"internal/sanitize", "internal/control", "internal/humanize", "internal/limit", "internal/resume", "internal/resume/view", "internal/wake"},
	"internal/webui":           {"internal/atomicfile", "internal/plain", "internal/regular", "internal/sanitize", "internal/control", "internal/humanize", "internal/lazy", "internal/resume", "internal/resume/view", "internal/timeline", "internal/usage", "internal/wake"},
	"internal/timeline":        {"internal/control", "internal/humanize", "internal/limit", "internal/resume", "internal/resume/view"},
	"internal/humanize":        {"internal/backoff", "internal/lazy", "internal/limit", "internal/resume", "internal/resume/view", "internal/sanitize", "internal/usage"},
	"internal/notify/channels": {"internal/agents", "internal/config", "internal/notify", "internal/notify/*", "internal/ownership", "internal/resume", "internal/sanitize"},
	"internal/notify/digest":   {"internal/journal", "internal/notify", "internal/resume", "internal/resume/view", "internal/state", "internal/wake"},
	"internal/notify/*":        {"internal/notify", "internal/plain", "internal/notify/remote", "internal/backoff", "internal/childenv", "internal/lazy", "internal/ownership", "internal/resume", "internal/resume/view", "internal/sanitize", "internal/sessionbus", "internal/wake"},
	"internal/notify":          {"internal/backoff", "internal/humanize", "internal/lazy", "internal/outbox", "internal/sanitize", "internal/limit", "internal/resume", "internal/resume/view", "internal/usage", "internal/wake"},
	"internal/ownership":       {"internal/regular", "internal/sanitize"},
	"internal/runfiles":        {"internal/atomicfile", "internal/resume", "internal/runner"},
	"internal/runner":          {"internal/usermanager", "internal/atomicfile", "internal/dirs", "internal/procfs", "internal/regular", "internal/sessionbus", "internal/childenv", "internal/lazy", "internal/sanitize", "internal/resume"},
	"internal/childenv":        {"internal/resume"},
	"internal/sessionbus":      {"internal/dirs"},
	"internal/shellinit":       {"internal/atomicfile"},
	"internal/terminal":        {"internal/procfs", "internal/resume"},
	"internal/shell":           {"internal/lazy", "internal/peer", "internal/procfs", "internal/resume", "internal/terminal", "internal/terminal/*"},
	"internal/terminal/*":      {"internal/childenv", "internal/peer", "internal/procfs", "internal/sanitize", "internal/terminal"},
	"internal/runenv":          {"internal/agent", "internal/childenv", "internal/leash", "internal/resume", "internal/runner", "internal/sanitize", "internal/starts"},
	"internal/starts":          {"internal/atomicfile", "internal/mounts", "internal/procfs", "internal/regular", "internal/resume", "internal/usermanager"},
	"internal/usermanager":     {"internal/dirs"},
	"internal/leash":           {"internal/resume", "internal/childenv", "internal/lazy"},
	"internal/fleet":           {"internal/lazy", "internal/limit", "internal/resume", "internal/sanitize", "internal/wake"},
	"internal/fleet/fleettest": {"internal/fleet"}, // for tests alone
	"internal/fleet/natskv":    {"internal/fleet", "internal/regular", "internal/wake"},
	"internal/fleet/member":    {"internal/agent", "internal/plain", "internal/config", "internal/control", "internal/fleet", "internal/fleet/natskv", "internal/humanize", "internal/lazy", "internal/notify", "internal/resume", "internal/resume/view", "internal/wake"},
	"internal/hub":             {"internal/atomicfile", "internal/plain", "internal/fleet", "internal/fleet/natskv", "internal/fsevents", "internal/lazy"},
	"internal/watch":           {"internal/fsevents", "internal/mounts", "internal/sparse"},
	"internal/headless":        {"internal/lazy"},
	"internal/lines":           {"internal/sparse"},
	"internal/agent":           {"internal/headless", "internal/lines", "internal/starts", "internal/usermanager", "internal/leash", "internal/process", "internal/procfs", "internal/program", "internal/sanitize", "internal/limit", "internal/resume", "internal/usage", "internal/childenv", "internal/lazy", "internal/sparse"},
	"internal/process":         {"internal/usermanager", "internal/procfs", "internal/program", "internal/sanitize", "internal/resume"},
	"internal/program":         {"internal/lazy", "internal/resume"},
	"internal/agenttest":       {"internal/headless", "internal/lines", "internal/agent", "internal/explain/recording", "internal/leash", "internal/limit", "internal/process", "internal/procfs", "internal/resume"}, // for tests alone
	"internal/agent/claude": {
		"internal/headless", "internal/lines", "internal/agent", "internal/agent/claude/*", "internal/lazy", "internal/leash", "internal/limit", "internal/program", "internal/resume",
	},
	"internal/agent/claude/account": {
		"internal/agent", "internal/agent/claude/startup", "internal/agent/claude/transcript", "internal/limit", "internal/resume", "internal/usage",
	},
	"internal/agent/claude/holders":    {"internal/lines", "internal/agent", "internal/agent/claude/transcript", "internal/process", "internal/procfs", "internal/resume"},
	"internal/agent/claude/screen":     {"internal/agent", "internal/agent/claude/transcript", "internal/lazy", "internal/resume"},
	"internal/agent/claude/startup":    {"internal/leash"},
	"internal/agent/claude/transcript": {"internal/lines", "internal/agent", "internal/lazy", "internal/limit", "internal/resume", "internal/sanitize"},
	"internal/agent/claude/claudetest": {"internal/process", "internal/procfs"}, // for tests alone
	"internal/agent/codex": {
		"internal/headless", "internal/lines", "internal/agent", "internal/agent/codex/*", "internal/lazy", "internal/leash", "internal/limit", "internal/resume", "internal/sqliteread", "internal/usage",
	},
	"internal/agent/codex/rollout": {"internal/lines", "internal/agent", "internal/lazy", "internal/limit", "internal/resume", "internal/usage"},
	"internal/agent/opencode": {
		"internal/headless", "internal/agent", "internal/agent/opencode/*", "internal/backoff", "internal/childenv", "internal/dirs", "internal/fsevents", "internal/lazy", "internal/leash", "internal/process", "internal/program", "internal/resume", "internal/sqliteread",
	},
	"internal/agent/opencode/database":  {"internal/agent", "internal/lines", "internal/limit", "internal/resume", "internal/sqliteread"},
	"internal/agent/opencode/processes": {"internal/agent", "internal/leash", "internal/process", "internal/resume"},
	"internal/agent/opencode/server":    {"internal/backoff", "internal/limit"},
	"internal/agent/*":                  {"internal/headless", "internal/lines", "internal/agent", "internal/backoff", "internal/fsevents", "internal/leash", "internal/limit", "internal/process", "internal/procfs", "internal/program", "internal/sqliteread", "internal/resume", "internal/dirs", "internal/lazy", "internal/usage"},
	"internal/sqliteread":               {"internal/backoff"},
	"internal/resume":                   {"internal/backoff", "internal/limit"},
	"internal/resume/engine":            {"internal/backoff", "internal/limit", "internal/resume", "internal/resume/view"},
	"internal/resume/view":              {"internal/limit", "internal/resume"},
	"internal/prompt":                   {"internal/lazy", "internal/limit"},

	"internal/limit":      {"internal/lazy", "internal/limit/token", "internal/limit/when"},
	"internal/limit/when": {"internal/lazy", "internal/limit/token"},
	"internal/budget":     {"internal/lazy"},
	"internal/sanitize":   {"internal/lazy"},
}

// libraries says which package may know which library. One that is not listed
// may be known by none.
var libraries = map[string][]string{
	"charm.land/bubbletea/v2":                 {"internal/termui"},
	"github.com/charmbracelet/x/ansi":         {"internal/termui"},
	"github.com/coreos/go-systemd/v22/daemon": {"internal/sdnotify"},
	"github.com/coreos/go-systemd/v22/dbus":   {"internal/runner"},
	"github.com/creack/pty":                   {"internal/shell", "internal/terminal/terminaltest"},
	"github.com/fsnotify/fsnotify":            {"internal/agent/opencode", "internal/fsevents", "internal/hub", "internal/watch"},
	"github.com/go-viper/mapstructure/v2":     {"internal/config"},
	"github.com/godbus/dbus/v5":               {"internal/sessionbus/bustest", "internal/notify/desktop", "internal/sessionbus", "internal/runner"},
	"github.com/google/btree":                 {"internal/resume/engine"},
	"github.com/google/uuid":                  {"internal/agent", "internal/app", "internal/queue", "internal/execrun"},
	"github.com/klauspost/compress/zstd":      {"internal/agent/codex/rollout", "internal/agenttest"},
	"github.com/lmittmann/tint":               {"internal/logging"},
	"github.com/mattn/go-runewidth":           {"internal/terminal/vtscreen"},
	"github.com/nats-io/nats-server/v2":       {"internal/hub"},
	"github.com/nats-io/nats.go":              {"internal/fleet/natskv", "internal/hub"},
	"github.com/nats-io/nkeys":                {"internal/fleet/natskv", "internal/hub"},
	"github.com/pelletier/go-toml/v2":         {"internal/config"},
	"github.com/prometheus/client_golang":     {"internal/metrics"},
	"github.com/shirou/gopsutil/v4":           {"internal/procfs"},
	"github.com/spf13/cobra":                  {"cmd/resumed", "cmd/resumed-hub", "internal/commandline"},
	"github.com/spf13/pflag":                  {"cmd/resumed", "internal/commandline"},
	"github.com/spf13/viper":                  {"internal/config"},
	"github.com/stretchr/testify":             {"internal/sessionbus/bustest", "internal/agent/claude/claudetest", "internal/agenttest", "internal/fleet/fleettest", "internal/notify/notifytest", "internal/terminal/terminaltest"},
	"golang.org/x/sys/unix":                   {"internal/agent", "internal/config/reload", "internal/process", "internal/procfs", "internal/program", "internal/execrun", "internal/peer", "internal/runner", "internal/shell", "internal/sparse", "internal/state", "internal/watch"},
	"golang.org/x/term":                       {"cmd/resumed", "internal/logging", "internal/shell"},
	"modernc.org/sqlite":                      {"internal/sqliteread", "internal/state"},
}

// knownOnlyIn narrows a library further, to files.
var knownOnlyIn = map[string]string{
	"github.com/spf13/viper":                  "internal/config/load.go",
	"github.com/coreos/go-systemd/v22/daemon": "internal/sdnotify/sdnotify.go",
	"github.com/coreos/go-systemd/v22/dbus":   "internal/runner/unit.go",
}

// pure packages touch nothing outside: no files, no processes, no network.
var pure = []string{
	"internal/resume", "internal/resume/engine", "internal/resume/view", "internal/backoff", "internal/limit", "internal/limit/token", "internal/limit/when",
	"internal/sanitize", "internal/lastwords", "internal/humanize", "internal/leash", "internal/timeline", "internal/budget", "internal/prompt",
}

var impure = []string{"os", "os/exec", "net", "net/http", "syscall", "log/slog", "database/sql"}

// source is one Go file of the program itself.
type source struct {
	file, pkg string
	imports   []string
}

// sources parses the files themselves: a test that asked the go command would
// be answered from the test cache.
func sources(t *testing.T) []source {
	var all []source
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || isModule(file)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{file: filepath.ToSlash(file), pkg: path.Dir(filepath.ToSlash(file))}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		all = append(all, s)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 50, "the walk found the program")
	return all
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func TestArrowsGoDown(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			ours, found := strings.CutPrefix(imported, "resumed/")
			if found && !matchesAny(arrows[generalise(s.pkg)], ours) {
				t.Errorf("%s may not import %s", s.file, ours)
			}
		}
	}
}

// The server of a fleet is in the program of the hub alone: it polls /proc every second in every program
// that contains it.
func TestTheDaemonContainsNoServer(t *testing.T) {
	t.Chdir(root)
	imports := make(map[string][]string)
	for _, s := range sources(t) {
		imports[s.pkg] = append(imports[s.pkg], s.imports...)
	}
	seen := make(map[string]bool)
	var visit func(pkg string)
	visit = func(pkg string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, imported := range imports[pkg] {
			if within(imported, "github.com/nats-io/nats-server/v2") {
				t.Errorf("cmd/resumed contains %s, by %s", imported, pkg)
			}
			if ours, found := strings.CutPrefix(imported, "resumed/"); found {
				visit(ours)
			}
		}
	}
	visit("cmd/resumed")
	require.True(t, seen["internal/fleet/natskv"])
}

func generalise(pkg string) string {
	if dir := path.Dir(pkg); arrows[pkg] == nil && arrows[dir+"/*"] != nil {
		return dir + "/*"
	}
	return pkg
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library, or ours
			}
			rooms, known := rooms(imported)
			if !known || !slices.Contains(rooms, s.pkg) {
				t.Errorf("%s may not know %s", s.file, imported)
			}
			for library, only := range knownOnlyIn {
				if within(imported, library) && only != s.file {
					t.Errorf("%s may be known in %s only, not in %s", imported, only, s.file)
				}
			}
		}
	}
}

func rooms(imported string) ([]string, bool) {
	for library, rooms := range libraries {
		if within(imported, library) {
			return rooms, true
		}
	}
	return nil, false
}

func within(imported, library string) bool {
	return imported == library || strings.HasPrefix(imported, library+"/")
}

func TestTheCoreIsPure(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		for _, imported := range s.imports {
			if slices.Contains(impure, imported) {
				t.Errorf("%s may not know %s: the core touches nothing", s.file, imported)
			}
		}
	}
}

// A short command needs few of the program's patterns: those of a package are compiled by internal/lazy, and
// here, as a bad one would be found when it is first used.
func TestPatternsAreCompiledWhenTheyAreNeeded(t *testing.T) {
	t.Chdir(root)
	tried := 0
	for _, s := range sources(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), s.file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				return false
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || len(n.Args) == 0 {
					break
				}
				onlyForTests := strings.HasSuffix(s.pkg, "test")
				if called.Sel.Name == "MustCompile" && strings.HasPrefix(s.pkg, "internal/") && s.pkg != "internal/lazy" && !onlyForTests {
					t.Errorf("%s compiles a pattern at each start: use lazy.Regexp", s.file)
				}
				if pattern, known := literal(n.Args[0]); known && called.Sel.Name == "Regexp" {
					tried++
					_, err := regexp.Compile(pattern)
					require.NoError(t, err, s.file)
				}
			}
			return true
		})
	}
	require.Greater(t, tried, 100)
}

// literal returns the value of a text, or of several that are added.
func literal(e ast.Expr) (value string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil
	case *ast.BinaryExpr:
		left, first := literal(e.X)
		right, second := literal(e.Y)
		return left + right, first && second
	}
	return "", false
}

func TestEachPackageSaysWhatItIs(t *testing.T) {
	t.Chdir(root)
	said := make(map[string]int)
	for _, s := range sources(t) {
		said[s.pkg] += 0
		parsed, err := parser.ParseFile(token.NewFileSet(), s.file, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if parsed.Doc != nil {
			said[s.pkg]++
		}
	}
	for pkg, times := range said {
		require.Equal(t, 1, times, "package comments in %s", pkg)
	}
}

// SECURITY.md promises nothing that no test holds.
func TestEveryPromiseHasItsTests(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	_, promises, _ := strings.Cut(string(text), "## What is promised")
	promises, _, _ = strings.Cut(promises, "## What is not")
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		data, err := os.ReadFile(file)
		tests.Write(data)
		return err
	}))
	for promise := range strings.SplitSeq(promises, "\n- ") {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(promise, -1)
		require.True(t, len(named) > 0 || !strings.HasPrefix(promise, "**"), promise)
		for _, name := range named {
			require.Contains(t, tests.String(), "func "+name[1]+"(", promise)
		}
	}
}
