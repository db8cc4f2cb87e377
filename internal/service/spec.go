package service

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agents"
)

// spec describes how a service manager runs the daemon.
type spec struct {
	program   string   // path of this program, or of its copy
	copyOf    string   // the program to copy to that path; "": none
	temporary string   // why it is copied
	config    string   // "": the service finds its own
	user      string   // the user that runs it
	variables []string // KEY=value
}

func (s spec) argv() []string {
	if s.config != "" {
		return []string{s.program, "--config", s.config, "run"}
	}
	return []string{s.program, "run"}
}

// dropIn returns the part of a unit that sets the program and its environment.
func (s spec) dropIn() string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, pair := range s.variables {
		fmt.Fprintf(&b, "Environment=%s\n", quoteForUnit(pair))
	}
	argv := s.argv()
	for i, arg := range argv {
		if filepath.IsAbs(arg) {
			argv[i] = strings.ReplaceAll(quoteForUnit(arg), `$`, `$$`) // systemd expands $ in commands
		}
	}
	fmt.Fprintf(&b, "ExecStart=\nExecStart=%s\n", strings.Join(argv, " "))
	return b.String()
}

// quoteForUnit quotes a word for systemd.
func quoteForUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word) + `"`
}

// recordedPath returns the PATH in the drop-in of an installed service, or "".
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

// recordedVariables returns the variables that the daemon needs to find what this shell finds: a
// service gets none of the shell's.
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

// usablePath removes relative and duplicate directories from a PATH.
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
