package service

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agents"
)

// spec is the daemon as a service manager is to run it.
type spec struct {
	program   string   // path of this program, or of the copy that is made of it
	copyOf    string   // what is copied there; "": nothing has to be
	temporary string   // why it is copied
	config    string   // "": the one that is found
	user      string   // who runs it
	variables []string // KEY=value
}

func (s spec) argv() []string {
	if s.config != "" {
		return []string{s.program, "--config", s.config, "run"}
	}
	return []string{s.program, "run"}
}

// dropIn is the part of a unit that says which program runs, and in which environment.
func (s spec) dropIn() string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, pair := range s.variables {
		fmt.Fprintf(&b, "Environment=%s\n", quoteForUnit(pair))
	}
	argv := s.argv()
	for i, arg := range argv {
		if filepath.IsAbs(arg) {
			argv[i] = strings.ReplaceAll(quoteForUnit(arg), `$`, `$$`) // a dollar has a meaning in commands
		}
	}
	fmt.Fprintf(&b, "ExecStart=\nExecStart=%s\n", strings.Join(argv, " "))
	return b.String()
}

// quoteForUnit writes a word as systemd reads it.
func quoteForUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word) + `"`
}

// recordedPath returns the PATH in the drop-in of an installed service; "": there is none.
func recordedPath(files []ownFile) string {
	for _, f := range present(files) {
		for line := range strings.Lines(f.text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), `Environment="PATH=`); ok {
				return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`, `\n`, "\n").Replace(strings.TrimSuffix(value, `"`))
			}
		}
	}
	return ""
}

// recordedVariables returns the variables without which the daemon would not find what this shell
// finds: a service has none of the shell's.
func recordedVariables(getenv func(string) string) []string {
	all := []string{"PATH=" + usablePath(getenv("PATH"))}
	names := []string{"RESUMED_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}
	for _, b := range agents.Builtin() {
		names = append(names, b.Variables...)
	}
	for _, name := range names {
		if value := getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// usablePath leaves relative and repeated directories out of a PATH.
func usablePath(path string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
