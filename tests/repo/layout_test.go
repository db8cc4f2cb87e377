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

// floors are the packages from the top of the house down: one imports only what is on a lower floor. What is on no
// floor is at the bottom, and below internal. Rooms for tests alone are on none.
var floors = []string{
	"cmd/resumed cmd/resumed-hub",
	"demo",
	"app",
	"backend",
	"doctor execrun explain notify/channels queue service",
	"agents",
	"agent/claude",
	"agent/claude/account agent/claude/holders agent/claude/screen agent/codex agent/copilot agent/custom agent/gemini agent/kimi agent/opencode agent/pi agent/qwen deliver webui",
	"agent/claude/transcript agent/codex/rollout agent/opencode/database agent/opencode/processes notify/digest notify/discord notify/gotify notify/mail notify/ntfy notify/pushover notify/slack notify/telegram notify/webhook",
	"agent/claude/startup config/edit config/reload feed fleet/member journal metrics midturn notify/command notify/desktop notify/remote runenv termui timeline",
	"agent config control hub notify runfiles sdnotify shell",
	"caller fleet/natskv humanize leash process resume/engine runner terminal/shellpty terminal/tmux",
	"childenv fleet peer program resume/view starts state terminal usage",
	"commandline lastwords prompt resume",
	"lease limit logging ownership",
	"headless limit/when lines lock sanitize sessionbus shellinit sqliteread usermanager watch",
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

// pure packages touch nothing outside: no files, no processes, no network.
var pure = []string{
	"internal/resume", "internal/resume/engine", "internal/resume/view", "internal/backoff", "internal/limit", "internal/limit/token", "internal/limit/when",
	"internal/sanitize", "internal/lastwords", "internal/humanize", "internal/leash", "internal/timeline", "internal/prompt",
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
	floor := make(map[string]int)
	for n, names := range floors {
		for name := range strings.FieldsSeq(names) {
			floor[name] = len(floors) - n
		}
	}
	of := func(pkg string) int { return floor[strings.TrimPrefix(pkg, "internal/")] }
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			ours, found := strings.CutPrefix(imported, "resumed/")
			if found && !strings.HasSuffix(s.pkg, "test") && of(s.pkg) <= of(ours) {
				t.Errorf("%s may not import %s, which is not on a lower floor", s.file, ours)
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
	require.Greater(t, tried, 50)
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
