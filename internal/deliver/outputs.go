package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// keptRuns is how many outputs of a session's resumes are kept.
const keptRuns = 10

// Outputs returns where the outputs of resumes are, for each session that has
// any.
func Outputs(stateDir string) (map[resume.Key]string, error) {
	entries, err := os.ReadDir(filepath.Join(stateDir, outputs))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for outputs: %w", err)
	}
	kept := make(map[resume.Key]string, len(entries))
	for _, entry := range entries {
		dir := filepath.Join(filepath.Join(stateDir, outputs), entry.Name())
		id, _, _ := strings.Cut(entry.Name(), "@")
		kept[resume.Key{Agent: ownerOf(dir), ID: id}] = dir
	}
	return kept, nil
}

// Runs returns the outputs in a session's directory, oldest first.
func Runs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(entry.Name(), ".log")); err == nil && entry.Type().IsRegular() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	paths := make([]string, len(numbers))
	for i, n := range numbers {
		paths[i] = filepath.Join(dir, strconv.Itoa(n)+".log")
	}
	return paths
}

// RunOf says when the run with that output began and ended, and how. What is not
// known is zero.
func RunOf(output string) (began, ended time.Time, how string) {
	began, _ = runner.BirthTime(output)
	path := strings.TrimSuffix(output, ".log") + statusSuffix
	left := runner.ReadLeft(path)
	switch {
	case !left.Began:
		return began, time.Time{}, ""
	case !left.Ended && left.PID != 0 && syscall.Kill(left.PID, 0) == nil:
		return began, time.Time{}, "it runs"
	case !left.Ended:
		return began, time.Time{}, "nobody saw how it ended"
	}
	if info, err := os.Stat(path); err == nil {
		ended = info.ModTime()
	}
	if err := left.Result().Err; err != nil {
		return began, ended, err.Error()
	}
	return began, ended, "ended well"
}

// pruneRuns removes all but the newest outputs.
func pruneRuns(dir string, keep int) {
	paths := Runs(dir)
	for _, path := range paths[:max(0, len(paths)-keep)] {
		_ = os.Remove(path) // it is tried again with the next resume
		_ = os.Remove(strings.TrimSuffix(path, ".log") + statusSuffix)
	}
}
