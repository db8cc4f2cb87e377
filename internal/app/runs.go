package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/resume"
)

// keptRuns is how many outputs of a session's resumes are kept.
const keptRuns = 10

// agentFile says of which agent's session a directory keeps something: two
// agents may call a session by one name.
const agentFile = "agent"

// dirOf returns where below root something of a session is kept: in a directory
// named after its id, unless that is another agent's. No id has an @.
func dirOf(root string, key resume.Key) string {
	dir := filepath.Join(root, key.ID)
	if owner := ownerOf(dir); owner != "" && owner != key.Agent {
		return dir + "@" + key.Agent
	}
	return dir
}

// claimDir makes the directory below root in which something of a session is
// kept, and makes it the session's own.
func (d *daemon) claimDir(root string, key resume.Key) (string, error) {
	d.claiming.Lock()
	defer d.claiming.Unlock()
	dir := dirOf(root, key)
	if ownerOf(dir) == key.Agent {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir, err
	}
	return dir, atomicfile.Write(filepath.Join(dir, agentFile), []byte(key.Agent), 0o600)
}

// claimRuns makes the directory of a session's outputs, and the session's own.
func (d *daemon) claimRuns(key resume.Key) (string, error) {
	return d.claimDir(runsRoot(d.opts.StateDir), key)
}

func runsRoot(stateDir string) string { return filepath.Join(stateDir, "runs") }

func ownerOf(dir string) string {
	owner, err := os.ReadFile(filepath.Join(dir, agentFile))
	if err != nil {
		return "" // nobody's yet
	}
	return string(owner)
}

// outputOf returns where the resume that the session is in writes to.
func (d *daemon) outputOf(s resume.Session) string {
	return filepath.Join(dirOf(runsRoot(d.opts.StateDir), s.Key), strconv.Itoa(s.Run.N)+".log")
}

// Outputs returns where the outputs of resumes are, for each session that has
// any.
func Outputs(stateDir string) (map[resume.Key]string, error) {
	entries, err := os.ReadDir(runsRoot(stateDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for outputs: %w", err)
	}
	kept := make(map[resume.Key]string, len(entries))
	for _, entry := range entries {
		dir := filepath.Join(runsRoot(stateDir), entry.Name())
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
	}
}
