package runenv

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

// files checks the files that flags of the session's start name. It parks the session if one is gone:
// the agent would not start, or without what the file forbids. If one has changed, that is told, and it
// parks a session that does not ask before it acts. Paths in a sandbox cannot be checked from here.
func (r Request) files(o resume.Origin, all *Environment) *resume.NotSent {
	if known, ok := r.Agent.(interface{ Flags() leash.Flags }); ok && o.Sandbox == "" {
		if path, flag := missingFile(known.Flags(), r.Command.Carried.Args, r.Command.Dir); path != "" {
			return park(path + ", which its " + flag + " names, is gone: put it back and retry, or " + ByHand(r.Agent, r.Session))
		}
	}
	changed := starts.ChangedFiles(o)
	if len(changed) == 0 {
		return nil
	}
	const why = "changed since the session was started"
	all.LeftOut = append(all.LeftOut, leash.Omission{What: strings.Join(changed, ", "), Why: why})
	if r.Command.Asks {
		return nil
	}
	return r.ask(strings.Join(changed, ", ") + " " + why)
}

// mayBeMissing are flags whose paths need not exist: they grant something there, or write there.
var mayBeMissing = []string{"--add-dir", "--include-directories", "--telemetry-outfile", "--record-responses"}

// missingFile returns a path that one of the flags names and that is gone, with the flag. Relative ones
// refer to dir.
func missingFile(flags leash.Flags, args []string, dir string) (path, flag string) {
	for _, w := range flags.Words(args) {
		values := w.Raw[1:]
		if _, value, joined := strings.Cut(w.Raw[0], "="); joined {
			values = []string{value}
		}
		for _, value := range values {
			if path := pathIn(flags, w.Option, value); path != "" && !isThere(path, dir) {
				return path, w.Option
			}
		}
	}
	return "", ""
}

// pathIn returns the path in the value of a flag; empty: there is none.
func pathIn(flags leash.Flags, option, value string) string {
	takesPath := func(f leash.Flag) bool {
		return f.Takes&leash.Path != 0 && slices.Contains(strings.Fields(f.Names), option)
	}
	key, setting, _ := strings.Cut(value, "=")
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case option == "--additional-mcp-config" && isFile: // of GitHub Copilot CLI
		return file
	case (option == "-c" || option == "--config") && strings.HasSuffix(strings.TrimSpace(key), "_file"): // of Codex, as TOML
		return strings.Trim(setting, `"' `)
	case slices.Contains(mayBeMissing, option) || strings.HasPrefix(value, "{") || !slices.ContainsFunc(flags, takesPath):
		return "" // or a document
	default:
		return value
	}
}

// isThere reports whether a path exists, or each of several with commas between them. What a process had
// open, such as <(command) of a shell, ended with it.
func isThere(path, dir string) bool {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(dir, path)
	}
	if _, err := os.Stat(full); !errors.Is(err, os.ErrNotExist) || strings.HasPrefix(path, "~") { // only the agent knows whose home
		return !strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/proc/self/fd/")
	}
	parts := strings.Split(path, ",")
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return !isThere(part, dir) })
}
