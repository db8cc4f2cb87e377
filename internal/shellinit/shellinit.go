// Package shellinit makes a user's shell start agents with `resumed shell`: the functions for that,
// and the line of the shell's own file that defines them.
package shellinit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/atomicfile"
)

// Shell is a shell that can define the functions.
type Shell struct {
	Name string
	Line string // of its file, defines the functions

	begin, function, end string                             // of what Line evaluates; NAME is an agent's program
	file                 func(home, config string) []string // of the file, under a user's directories
}

// The functions are for people alone: a script that starts an agent has no terminal, or is no
// interactive shell. In tmux, which can be typed into anyway, and inside `resumed shell`, the
// agent is started as it is; so it is if resumed was removed.
const (
	posixBegin = `	_resumed_shell() {
		if [ -t 0 ] && [ -t 1 ] && [ -z "${TMUX-}${RESUMED_SHELL-}" ] && command -v resumed >/dev/null; then
			command resumed shell "$@"
		else
			command "$@"
		fi
	}
`

	// A function of the user's own stays. Without the keyword, an alias of that name would be expanded.
	posixFunction = "\ttypeset -f NAME >/dev/null || function NAME { _resumed_shell NAME \"$@\"; }\n"
)

var shells = []Shell{
	{
		Name: "bash", Line: `eval "$(resumed shell --init bash)"`,
		begin: "if [[ $- == *i* ]]; then\n" + posixBegin, function: posixFunction, end: "fi\n",
		file: func(home, _ string) []string { return []string{home, ".bashrc"} },
	},
	{
		Name: "zsh", Line: `eval "$(resumed shell --init zsh)"`,
		begin: "if [[ -o interactive ]]; then\n" + posixBegin, function: posixFunction, end: "fi\n",
		file: func(home, _ string) []string { return []string{cmp.Or(os.Getenv("ZDOTDIR"), home), ".zshrc"} },
	},
	{
		Name: "fish", Line: `resumed shell --init fish | source`,
		begin: `if status is-interactive
	function _resumed_shell
		if isatty stdin; and isatty stdout; and test -z "$TMUX$RESUMED_SHELL"; and command -q resumed
			command resumed shell $argv
		else
			command $argv
		end
	end
`,
		function: "\tif not functions -q NAME; function NAME --wraps NAME; _resumed_shell NAME $argv; end; end\n", end: "end\n",
		file: func(_, config string) []string { return []string{config, "fish", "config.fish"} },
	},
}

// Names returns the names of the shells.
func Names() []string {
	var names []string
	for _, s := range shells {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the shell of that name or path, or false.
func Find(name string) (Shell, bool) {
	for _, s := range shells {
		if s.Name == filepath.Base(name) {
			return s, true
		}
	}
	return Shell{}, false
}

// Script returns what Line evaluates: a function for each of the agents' programs.
func (s Shell) Script(programs []string) string {
	if len(programs) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString(s.begin)
	for _, program := range programs {
		text.WriteString(strings.ReplaceAll(s.function, "NAME", program))
	}
	return text.String() + s.end
}

// read returns the file that the shell reads when it starts, and its text. The path has no links: many users
// keep these files elsewhere.
func (s Shell) read() (path, text string, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", "", err
	}
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	path = filepath.Join(s.file(home, config)...)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, "", nil
	}
	if err == nil && bytes.IndexByte(data, 0) >= 0 {
		err = fmt.Errorf("%s is not a text file", path)
	}
	return path, string(data), err
}

func write(path, text string) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(text), mode)
}

// Offer shows the line for the user's shell, and adds it to the end of the shell's file if the user agrees. There
// is nothing to offer if it is there, if none of the agents' programs is, or if the shell is none of these.
func Offer(out io.Writer, programs []string, agree func(question string) bool) error {
	shell, ok := Find(os.Getenv("SHELL"))
	if !ok || len(programs) == 0 {
		return nil
	}
	path, text, err := shell.read()
	if err != nil || strings.Contains("\n"+text+"\n", "\n"+shell.Line+"\n") {
		return err
	}
	fmt.Fprintf(out, "\nWith this line in %s, resumed can type into your agents in every terminal:\n  %s\n", path, shell.Line)
	if !agree("Add it? [y/N] ") {
		return nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := write(path, text+shell.Line+"\n"); err != nil {
		return fmt.Errorf("add it: %w", err)
	}
	_, err = fmt.Fprintln(out, "Added. It counts in shells that you open from now on.")
	return err
}

// Forget takes the line out of every shell's file that has it.
func Forget(out io.Writer, dryRun bool) (err error) {
	for _, s := range shells {
		path, text, failed := s.read()
		var rest strings.Builder
		for line := range strings.SplitAfterSeq(text, "\n") {
			if strings.TrimSuffix(line, "\n") != s.Line {
				rest.WriteString(line)
			}
		}
		if failed == nil && rest.Len() != len(text) {
			does := "# take"
			if !dryRun {
				does, failed = "took", write(path, rest.String())
			}
			if failed == nil {
				fmt.Fprintf(out, "%s the line of resumed shell out of %s\n", does, path)
			}
		}
		err = errors.Join(err, failed)
	}
	return err
}
