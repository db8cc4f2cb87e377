package app

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/resume"
)

// keptRuns is how many outputs of a session's resumes are kept.
const keptRuns = 10

func (d *daemon) runsDir(key resume.Key) string { return RunsDir(d.opts.StateDir, key.ID) }

// outputOf returns where the resume that the session is in writes to.
func (d *daemon) outputOf(s resume.Session) string {
	return filepath.Join(d.runsDir(s.Key), strconv.Itoa(s.Run.N)+".log")
}

// RunsDir returns where the outputs of a session's resumes are.
func RunsDir(stateDir, id string) string { return filepath.Join(stateDir, "runs", id) }

// Runs returns the outputs in a session's directory, oldest first.
func Runs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(entry.Name(), ".log")); err == nil {
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

// pruneRuns removes all but the newest outputs.
func pruneRuns(dir string, keep int) {
	paths := Runs(dir)
	for _, path := range paths[:max(0, len(paths)-keep)] {
		_ = os.Remove(path) // it is tried again with the next resume
	}
}
