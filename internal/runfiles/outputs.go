package runfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// keptRuns is how many outputs of a session's resumes are kept.
const keptRuns = 10

// Outputs returns the directory with the outputs of each session that has any.
func Outputs(stateDir string) (map[resume.Key]string, error) {
	entries, err := os.ReadDir(filepath.Join(stateDir, outputs))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for outputs: %w", err)
	}
	found := make(map[resume.Key]string, len(entries))
	for _, entry := range entries {
		dir := filepath.Join(stateDir, outputs, entry.Name())
		id, _, _ := strings.Cut(entry.Name(), "@")
		found[resume.Key{Agent: agentOf(dir), ID: id}] = dir
	}
	return found, nil
}

// Runs returns the outputs in a session's directory, oldest first.
func Runs(dir string) []string {
	var paths []string
	for _, n := range numbers(dir, outputSuffix) {
		paths = append(paths, filepath.Join(dir, strconv.Itoa(n)+outputSuffix))
	}
	return paths
}

// Name returns what the run with that output was: a start, or which resume.
func Name(output string) string {
	n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(output), outputSuffix))
	data, _ := os.ReadFile(filepath.Join(filepath.Dir(output), startsFile)) // a session that is not of a task has none
	if starts, _ := strconv.Atoi(string(data)); n > starts {
		return "resume " + strconv.Itoa(n-starts)
	}
	return "start"
}

// RunOf returns when the run with that output started and ended, and how. Unknown values are
// zero.
func RunOf(output string) (began, ended time.Time, how string) {
	began, _ = runner.BirthTime(output)
	path := statusOf(output)
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

// statusOf returns the status file that belongs to an output.
func statusOf(output string) string { return strings.TrimSuffix(output, outputSuffix) + statusSuffix }
