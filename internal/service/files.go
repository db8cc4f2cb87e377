package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/dirs"
	"resumed/internal/hint"
	"resumed/launchd"
)

// Units that install writes begin with marker; plugins of earlier releases begin with pluginMarker.
const (
	marker       = "# Written by `resumed install`; `resumed uninstall` removes it.\n"
	pluginMarker = "// Written by resumed"
)

// copyLine matches a line that records a program that install copied.
var copyLine = regexp.MustCompile(`(?m)^# made file: (.*)$`)

// ownFile is a file that install writes.
type ownFile struct {
	path, text string
	records    bool // it records the programs that install copied
}

func isOurs(text string) bool {
	return strings.HasPrefix(text, marker) || strings.HasPrefix(text, pluginMarker) || launchd.Ours(text)
}

// installed returns the existing files that install wrote, with their texts. Earlier releases also wrote
// plugins.
func installed(m manager) []ownFile {
	files := m.allFiles()
	for _, agent := range []string{"opencode", "kilo"} {
		files = append(files, ownFile{path: filepath.Join(dirs.Config(os.Getenv), agent, "plugin", "resumed.js")})
	}
	return present(files)
}

func present(files []ownFile) []ownFile {
	var found []ownFile
	for _, f := range files {
		if text, err := os.ReadFile(f.path); err == nil && isOurs(string(text)) {
			f.text = string(text)
			found = append(found, f)
		}
	}
	return found
}

// refuseForeign returns an error if one of the files was not written by resumed.
func refuseForeign(files []ownFile) error {
	for _, f := range files {
		old, err := os.ReadFile(f.path)
		if err == nil && !isOurs(string(old)) {
			return hint.With(fmt.Errorf("%s was not made by resumed, and was not changed", f.path), "move it away, then resumed install")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at file: %w", err)
		}
	}
	return nil
}

// writeFiles writes new and changed files, and reports whether anything changed. copied are the programs
// that were copied now.
func (i Installer) writeFiles(files []ownFile, copied []string) (changed bool, err error) {
	record := ""
	for _, path := range append(copiedBefore(present(files)), copied...) {
		record += "# made file: " + path + "\n"
	}
	for _, f := range files {
		text := f.text
		if f.records {
			text += record
		}
		if old, err := os.ReadFile(f.path); err == nil && string(old) == text {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return changed, fmt.Errorf("make a directory: %w", err)
		}
		if err := atomicfile.Write(linkTarget(f.path), []byte(text), 0o644); err != nil {
			return changed, fmt.Errorf("write file: %w", err)
		}
		changed = true
		fmt.Fprintln(i.Out, "wrote", f.path)
	}
	return changed, nil
}

// linkTarget resolves a link, so that a user's link to units elsewhere is not replaced.
func linkTarget(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// copiedBefore returns the programs that an earlier install copied.
func copiedBefore(files []ownFile) []string {
	var copied []string
	for _, f := range files {
		for _, line := range copyLine.FindAllStringSubmatch(f.text, -1) {
			if f.records {
				copied = append(copied, line[1])
			}
		}
	}
	return copied
}

// removeFiles removes files, the programs that install copied, and their directories if nothing else is
// in them.
func (i Installer) removeFiles(files []ownFile, copied []string) (failed error) {
	for _, f := range files {
		if err := os.Remove(f.path); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove file: %w", err))
			continue
		}
		fmt.Fprintln(i.Out, "removed", f.path)
		removeEmpty(filepath.Dir(f.path))
	}
	if failed != nil {
		return failed // the unit may still start the copy, which is also needed to try again
	}
	for _, path := range copied {
		if isResumed(path) && os.Remove(path) == nil {
			fmt.Fprintln(i.Out, "removed", path)
		}
		removeEmpty(filepath.Dir(path))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
