package deliver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// excludes parks a session in a directory that the user excluded. The rules check the path in the
// transcript; this checks the path that its links lead to.
func (s Settings) excludes(dir string) *resume.NotSent {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // the plan says what that means
	}
	return parkIf(s.Rules.Excluded(target))
}

// distrusts parks a session if another user can have written one of these paths: the transcript
// determines what is run and with which permissions, and the agent runs programs of the directory. It
// is checked before anything is read from them.
func (s Settings) distrusts(paths ...string) *resume.NotSent {
	for _, path := range paths {
		if path == "" {
			continue // the plan says what that means
		}
		if err := s.Trust.Check(path); err != nil {
			return park("it is not used: " + err.Error())
		}
	}
	return nil
}

// replaced parks a session if its directory was replaced by another one of the same name: the work is
// not there, and the permissions were not given for it. A person may order a retry anyway.
func replaced(s resume.Session, dir string) *resume.NotSent {
	born, known := runner.BirthTime(dir)
	if !known || s.CwdBorn.IsZero() || !s.RetryAskedAt.IsZero() || dir != s.Cwd || born.Equal(s.CwdBorn) {
		return nil
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 && agent.MayComeBack(s) { // such as a disk that is not mounted
		return &resume.NotSent{Why: dir + " is empty and not the session's directory: it is continued when that is back", Then: resume.Tell}
	}
	return park(dir + " was replaced by another directory after the session stopped; retry to continue there")
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

// located returns the session with the path that its transcript has in one of the agent's roots: a link
// in the path may have changed since it was read.
func (d *Deliverer) located(s resume.Session) resume.Session {
	a := d.opts.Settings().Agent(s.Key.Agent)
	if a == nil || agent.Watches(a, s.Transcript) {
		return s
	}
	target, err := filepath.EvalSymlinks(s.Transcript)
	if err != nil {
		return s
	}
	for _, src := range agent.SourcesOf(a) {
		root, err := filepath.EvalSymlinks(src.Root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			s.Transcript = filepath.Join(src.Root, rel)
			return s
		}
	}
	return s
}
