// Package edit adds text to the user's configuration file or removes it, and leaves the rest as it is.
// It never writes a file that Load would refuse.
package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/config"
)

// Create writes a new file. Its error is fs.ErrExist if there is one.
func Create(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the configuration directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// Append adds text to the end of a file.
func Append(path, text string, known config.Known) error {
	return rewrite(path, "[[agent]]", known, func(before string) string {
		return strings.TrimRight(before, "\n") + "\n\n" + text
	})
}

// SetFleet writes the keys of the fleet into a file, which need not exist.
func SetFleet(path string, wanted config.Fleet, known config.Known) error {
	err := rewrite(path, "[fleet]", known, func(before string) string { return withFleet(before, wanted) })
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return err
}

// RemoveFleet removes the table [fleet] from a file, except its comments. Its error is ErrUnchanged if
// there is none.
func RemoveFleet(path string, known config.Known) error {
	return rewrite(path, "a configuration without [fleet]", known, withoutFleet)
}

// rewrite replaces a file and keeps its permissions. added names the change in the error if Load
// refuses the result.
func rewrite(path, added string, known config.Known, change func(before string) string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read configuration: %w", err)
	}
	after := change(string(before))
	if after == string(before) {
		return ErrUnchanged
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if _, err := config.Parse(path, []byte(after), known); err != nil {
		return fmt.Errorf("%s cannot be added to %s: %w", added, path, err)
	}
	if err := atomicfile.Write(path, []byte(after), mode); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// ErrUnchanged says that the file needs no change.
var ErrUnchanged = errors.New("the configuration is unchanged")

func withFleet(text string, wanted config.Fleet) string {
	keys := []string{"url", "credentials_file", "ca_file", "name"}
	said := fmt.Sprintf("url = %q\ncredentials_file = %q\nca_file = %q\nname = %q\n", wanted.URL, wanted.CredentialsFile, wanted.CAFile, wanted.Name)
	after, found := "", false
	for line, inside := range fleetLines(text) {
		key, _, _ := strings.Cut(line, "=")
		switch {
		case inside && strings.HasPrefix(strings.TrimSpace(line), "["):
			found = true
			after += strings.TrimSuffix(line, "\n") + "\n" + said
		case !inside || !slices.Contains(keys, strings.TrimSpace(key)):
			after += line
		}
	}
	if found {
		return after
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		after += "\n"
	}
	return after + "\n[fleet]\n" + said
}

// withoutFleet keeps one of the empty lines before and after the table.
func withoutFleet(text string) string {
	after, removed := "", false
	endsBlank := func() bool { return strings.HasSuffix("\n\n"+after, "\n\n") }
	for line, inside := range fleetLines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case inside && trimmed != "" && trimmed[0] != '#':
			removed = true
		case trimmed != "" || !removed || !endsBlank():
			after, removed = after+line, false
		}
	}
	if removed && endsBlank() {
		after = strings.TrimSuffix(after, "\n")
	}
	return after
}

// fleetLines yields the lines of a text, and whether they belong to the table [fleet].
func fleetLines(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		inside := false
		for line := range strings.Lines(text) {
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
				inside = strings.HasPrefix(trimmed, "[fleet]")
			}
			if !yield(line, inside) {
				return
			}
		}
	}
}
