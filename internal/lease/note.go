package lease

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/regular"
)

// Note is stored by a process that gave up on a session, so that the next process does not
// start all over again.
type Note struct {
	At        time.Time `json:"at"`
	Why       string    `json:"why"`
	Cancelled bool      `json:"cancelled,omitempty"` // a person ended the interruption
}

// GiveUp stores a note. The lease must still be released.
func (l *Lease) GiveUp(n Note) error {
	if l == nil {
		return nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("leave a note: %w", err)
	}
	for _, file := range l.files {
		if err := atomicfile.Write(notePath(file.Name()), data, 0o600); err != nil {
			return fmt.Errorf("leave a note: %w", err)
		}
	}
	return nil
}

// LastNote returns the newest note about an agent's session. One that cannot be read counts as
// none.
func LastNote(dirs []string, agent, id string) (last Note, found bool) {
	for _, dir := range dirs {
		if n := readNote(notePath(filepath.Join(dir, name(agent, id)))); n.At.After(last.At) {
			last, found = n, true
		}
	}
	return last, found
}

// readNote returns a note; the zero Note if it cannot be read.
func readNote(path string) (n Note) {
	data, err := regular.Read(path)
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}
	}
	return n
}

// noteSuffix ends the name of every note.
const noteSuffix = ".note"

// notePath returns a path that is as long as that of the lease.
func notePath(lease string) string { return lease[:len(lease)-len(suffix)] + noteSuffix }
