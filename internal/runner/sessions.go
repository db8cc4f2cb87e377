package runner

import (
	"sync"

	"resumed/internal/procfs"
)

// sessions are those of the commands that this process started: when the leader of each began, by its number.
var sessions sync.Map

func noteSession(pid int) {
	if stat, err := procfs.Proc.Stat(pid); err == nil {
		sessions.Store(pid, stat.Start)
	}
}

// Started reports whether the session of that number is one of a command that this process started, also if the
// command has ended. A number that another process has by now is another session's.
func Started(session int) bool {
	start, known := sessions.Load(session)
	if !known {
		return false
	}
	if stat, err := procfs.Proc.Stat(session); err == nil && stat.Start != start {
		sessions.Delete(session)
		return false
	}
	return true
}
