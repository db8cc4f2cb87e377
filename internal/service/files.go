package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/hint"
	"resumed/internal/lazy"
	"resumed/launchd"
)

// Units that install writes begin with marker.
const marker = "# Written by `resumed install`; `resumed uninstall` removes it.\n"

// madeLine matches a line that records a directory, or the program copy, that install made.
var madeLine = lazy.Regexp(`(?m)^# made (?:directory|file): (.*)$`)

// ownFile is a file that install writes.
type ownFile struct {
	path, text string
	records    bool // it records the directories and copies that install made
}

func isOurs(text string) bool {
	return strings.HasPrefix(text, marker) || launchd.Ours(text)
}

// present returns the existing files that install wrote, with their texts.
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

// writeFiles writes new and changed files, and reports whether anything changed.
func (i Installer) writeFiles(files []ownFile, made []string) (changed bool, err error) {
	made = append(madeBefore(present(files)), made...)
	for _, f := range files {
		fresh, err := makeDirs(filepath.Dir(f.path))
		if err != nil {
			return changed, fmt.Errorf("make a directory: %w", err)
		}
		made = append(made, fresh...)
	}
	for _, f := range files {
		text := f.text
		if f.records {
			text += madeLines(made)
		}
		if old, err := os.ReadFile(f.path); err == nil && string(old) == text {
			continue
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

// makeDirs makes dir and its missing parents, and returns those it made, innermost last.
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
		kind := "directory"
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			kind = "file"
		}
		fmt.Fprintf(&b, "# made %s: %s\n", kind, path)
	}
	return b.String()
}

// madeBefore returns the paths that an earlier install made.
func madeBefore(files []ownFile) []string {
	var made []string
	for _, f := range files {
		for _, line := range madeLine().FindAllStringSubmatch(f.text, -1) {
			if f.records {
				made = append(made, line[1])
			}
		}
	}
	return made
}

// removeFiles removes files, and what install made if it is still unused: empty directories, and the
// program copy.
func (i Installer) removeFiles(files []ownFile, made []string) (failed error) {
	for _, f := range files {
		if err := os.Remove(f.path); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove file: %w", err))
			continue
		}
		fmt.Fprintln(i.Out, "removed", f.path)
	}
	if failed != nil {
		return failed // the unit may still start the copy, which is also needed to try again
	}
	for _, path := range slices.Backward(made) {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() && !isResumed(path) {
			continue
		}
		if os.Remove(path) == nil && info.Mode().IsRegular() { // a directory that is not empty stays
			fmt.Fprintln(i.Out, "removed", path)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
