// Package runfiles stores the files of resumes: the output and the exit code of each command,
// screens that were not recognised, and copies of transcripts from before a resume.
package runfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// The directories in the state directory. Each has one directory for each session.
const (
	outputs = "runs"
	copies  = "kept"
)

// The suffixes of a resume's files, after its number.
const (
	outputSuffix = ".log"
	statusSuffix = ".exit"
)

// agentFile names the agent of a directory: two agents may give their sessions the same id.
const agentFile = "agent"

// Store is the files of all sessions.
type Store struct {
	stateDir string
	mu       sync.Mutex // held while a session gets a directory
}

// New returns the files in a state directory.
func New(stateDir string) *Store { return &Store{stateDir: stateDir} }

// Output returns where the n-th resume of a session writes its output.
func (s *Store) Output(key resume.Key, n int) string {
	return filepath.Join(s.dirOf(outputs, key), strconv.Itoa(n)+outputSuffix)
}

// Status returns the status file of that resume's command: whether it was started, and how it ended.
func (s *Store) Status(key resume.Key, n int) string {
	return filepath.Join(s.dirOf(outputs, key), strconv.Itoa(n)+statusSuffix)
}

// startsFile has the number of the last run that began the session of a task: the later ones resumed it.
const startsFile = "starts"

// Prepare makes room for the output of the n-th run. start: it begins the session of a task.
func (s *Store) Prepare(key resume.Key, n int, start bool) error {
	dir, err := s.claim(outputs, key)
	if err != nil {
		return err
	}
	if start {
		err = os.WriteFile(filepath.Join(dir, startsFile), []byte(strconv.Itoa(n)), 0o600)
	}
	paths := Runs(dir)
	for _, path := range paths[:max(0, len(paths)-keptRuns+1)] {
		_ = os.Remove(path) // tried again at the next resume
		_ = os.Remove(statusOf(path))
	}
	return err
}

// StoreScreen stores a screen for people, and returns its path. Only the newest one is kept.
func (s *Store) StoreScreen(key resume.Key, text string) (string, error) {
	dir, err := s.claim(outputs, key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "screen.txt")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// dirOf returns the directory of a session: it is named after the session's id, unless a session
// of another agent has that directory. No id has an @.
func (s *Store) dirOf(kind string, key resume.Key) string {
	dir := filepath.Join(s.stateDir, kind, key.ID)
	if agent := agentOf(dir); agent != "" && agent != key.Agent {
		return dir + "@" + key.Agent
	}
	return dir
}

// claim makes that directory, and records that it belongs to the session.
func (s *Store) claim(kind string, key resume.Key) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.dirOf(kind, key)
	if agentOf(dir) == key.Agent {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir, err
	}
	// Files in it survive a power cut only if the directories above are synced too.
	if err := errors.Join(atomicfile.SyncDir(filepath.Dir(dir)), atomicfile.SyncDir(s.stateDir)); err != nil {
		return dir, err
	}
	return dir, atomicfile.Write(filepath.Join(dir, agentFile), []byte(key.Agent), 0o600)
}

// remove removes a directory, unless a session has used it since then.
func (s *Store) remove(dir string, since time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Stat(dir); err != nil || info.ModTime().After(since) {
		return nil
	}
	return os.RemoveAll(dir)
}

// agentOf returns the agent that a directory belongs to; empty: none yet.
func agentOf(dir string) string {
	agent, _ := os.ReadFile(filepath.Join(dir, agentFile))
	return string(agent)
}

func numbers(dir, suffix string) []int {
	entries, _ := os.ReadDir(dir) // if it cannot be read, nothing can be written there either
	var all []int
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if n, err := strconv.Atoi(name); ok && err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

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
	left := runner.ReadStatusFile(path)
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

func statusOf(output string) string { return strings.TrimSuffix(output, outputSuffix) + statusSuffix }
