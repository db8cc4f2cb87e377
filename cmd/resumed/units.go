//go:build !windows

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agents"
	"resumed/systemd"
)

// marker says whose file it is; a plugin says so in its own words.
const (
	marker       = "# Written by `resumed install`; `resumed uninstall` removes it.\n"
	pluginMarker = "// Written by resumed"
)

// These begin the lines that keep which directories install has made, and where
// it has put a copy of the program.
const (
	madePrefix   = "# made directory: "
	copiedPrefix = "# made file: "
)

// notifyReloadSince is the first systemd that knows Type=notify-reload. An
// older one would take it for Type=simple, and only warn.
const notifyReloadSince = 253

// service is the daemon as a service manager is to run it.
type service struct {
	program   string   // path of this program, or of the copy that is made of it
	copyOf    string   // what is copied there; "": nothing has to be
	fleeting  string   // why it is
	config    string   // "": the one that is found
	user      string   // who runs it
	variables []string // KEY=value
}

// unitFile is one file that install writes.
type unitFile struct {
	path, text string
	records    bool // it keeps which directories were made
}

// ours reports whether a text is of install's making.
func ours(text string) bool {
	return strings.HasPrefix(text, marker) || strings.HasPrefix(text, pluginMarker)
}

// pluginFiles are the plugins of agents that wanted picks.
func pluginFiles(wanted func(agent string) bool) []unitFile {
	var files []unitFile
	for _, b := range agents.Builtin() {
		if b.Plugin != nil && wanted(b.Name) {
			path, text := b.Plugin()
			files = append(files, unitFile{path: path, text: text})
		}
	}
	return files
}

// recorded returns the variables without which the daemon would not find what
// it finds here: a service has none of the shell's.
func recorded(getenv func(string) string) []string {
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

// usablePath leaves out of a PATH what has no meaning elsewhere, and what
// stands in it twice.
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

// userFiles returns the files of a user's own unit in dir.
func (s service) userFiles(dir string, systemdVersion int) []unitFile {
	dropIns := filepath.Join(dir, unitName+".d")
	files := []unitFile{
		{path: filepath.Join(dir, unitName), text: marker + systemd.User},
		{path: filepath.Join(dropIns, "install.conf"), text: marker + s.dropIn(), records: true},
	}
	if systemdVersion >= notifyReloadSince {
		files = append(files, unitFile{path: filepath.Join(dropIns, "notify-reload.conf"), text: marker + systemd.NotifyReload})
	}
	return files
}

// dropIn says which program runs, and in which environment.
func (s service) dropIn() string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, pair := range s.variables {
		fmt.Fprintf(&b, "Environment=%s\n", quote(pair, false))
	}
	argv := []string{quote(s.program, true)}
	if s.config != "" {
		argv = append(argv, "--config", quote(s.config, true))
	}
	fmt.Fprintf(&b, "ExecStart=\nExecStart=%s run\n", strings.Join(argv, " "))
	return b.String()
}

// quote writes a word as systemd reads it. In a command the dollar has a
// meaning too.
func quote(word string, command bool) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word)
	if command {
		word = strings.ReplaceAll(word, `$`, `$$`)
	}
	return `"` + word + `"`
}

// recordedPath returns the PATH that install recorded for the service in dir;
// empty: none is installed there.
func recordedPath(dir string) string {
	for _, f := range installed(dir) {
		for line := range strings.Lines(f.text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), `Environment="PATH=`); ok {
				value = strings.TrimSuffix(value, `"`)
				return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`, `\n`, "\n").Replace(value)
			}
		}
	}
	return ""
}

// installed returns the files of ours that are in dir.
func installed(dir string) []unitFile {
	var files []unitFile
	for _, f := range append((service{}).userFiles(dir, notifyReloadSince), pluginFiles(func(string) bool { return true })...) {
		if text, err := os.ReadFile(f.path); err == nil && ours(string(text)) {
			f.text = string(text)
			files = append(files, f)
		}
	}
	return files
}

// makeDirs makes dir and what is missing above it, and returns what it made,
// innermost last.
func makeDirs(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	made, err := makeDirs(filepath.Dir(dir))
	if err != nil {
		return made, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

func madeLines(made []string) string {
	var b strings.Builder
	for _, path := range made {
		prefix := madePrefix
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			prefix = copiedPrefix
		}
		b.WriteString(prefix + path + "\n")
	}
	return b.String()
}

// madeBefore returns what an earlier install has made.
func madeBefore(files []unitFile) []string {
	var made []string
	for _, f := range files {
		if !f.records {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			for _, prefix := range []string{madePrefix, copiedPrefix} {
				if path, ok := strings.CutPrefix(line, prefix); ok {
					made = append(made, path)
				}
			}
		}
	}
	return made
}

// printSystemInstall prints a script that sets up the system unit for this
// user.
func (c *cli) printSystemInstall(s service) error {
	instance := "resumed@" + s.user + ".service"
	const dir = "/etc/systemd/system"
	_, err := fmt.Fprintf(c.out, `# Runs resumed as %[1]s, from the start of the machine, without a login.
# Look at it, then: resumed install --system | sudo sh
set -e
cat > %[2]s/resumed@.service <<'END'
%[3]sEND
mkdir -p %[2]s/%[4]s.d
cat > %[2]s/%[4]s.d/install.conf <<'END'
%[5]sEND
systemctl daemon-reload
systemctl enable --now %[4]s
# To undo it: systemctl disable --now %[4]s
#             rm -r %[2]s/resumed@.service %[2]s/%[4]s.d
`, s.user, dir, systemd.System, instance, s.dropIn())
	return err
}
