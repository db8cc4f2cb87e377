package deliver

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/resume"
)

// What is kept of sessions, by the directory that it is kept in.
const (
	outputs = "runs" // what resumed commands print
	backups = "kept" // transcripts, as they were before a resume that may lose them
)

// statusSuffix ends the name of the file that tells how a command ended.
const statusSuffix = ".exit"

// agentFile says of which agent's session a directory keeps something: two
// agents may call a session by one name.
const agentFile = "agent"

// shelves are the directories in which something of each session is kept.
type shelves struct {
	stateDir string
	mu       sync.Mutex // held while a session takes a directory
}

// of returns where something of a session is kept: in a directory named after its
// id, unless that is another agent's. No id has an @.
func (s *shelves) of(what string, key resume.Key) string {
	dir := filepath.Join(s.stateDir, what, key.ID)
	if owner := ownerOf(dir); owner != "" && owner != key.Agent {
		return dir + "@" + key.Agent
	}
	return dir
}

// claim makes that directory, and makes it the session's own.
func (s *shelves) claim(what string, key resume.Key) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.of(what, key)
	if ownerOf(dir) == key.Agent {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir, err
	}
	// What is kept there is on disk only where the directories above it are.
	if err := errors.Join(atomicfile.SyncDir(filepath.Dir(dir)), atomicfile.SyncDir(s.stateDir)); err != nil {
		return dir, err
	}
	return dir, atomicfile.Write(filepath.Join(dir, agentFile), []byte(key.Agent), 0o600)
}

// output returns where the resume that the session is in writes to.
func (s *shelves) output(session resume.Session) string {
	return filepath.Join(s.of(outputs, session.Key), strconv.Itoa(session.Run.N)+".log")
}

// status returns where that resume leaves that it was begun, and how it ended.
func (s *shelves) status(session resume.Session) string {
	return filepath.Join(s.of(outputs, session.Key), strconv.Itoa(session.Run.N)+statusSuffix)
}

// clear removes a directory, unless a session has taken it since then.
func (s *shelves) clear(dir string, since time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Stat(dir); err != nil || info.ModTime().After(since) {
		return nil
	}
	return os.RemoveAll(dir)
}

func ownerOf(dir string) string {
	owner, err := os.ReadFile(filepath.Join(dir, agentFile))
	if err != nil {
		return "" // nobody's yet
	}
	return string(owner)
}
