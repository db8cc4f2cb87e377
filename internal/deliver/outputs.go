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

	"resumed/internal/resume"
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
		_ = os.Remove(strings.TrimSuffix(path, ".log") + statusSuffix)
	}
}
