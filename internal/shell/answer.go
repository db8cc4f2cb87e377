//go:build !windows

package shell

import (
	"path/filepath"
	"time"

	"resumed/internal/terminal/shellpty"
)

// typeTimeout is how long an agent may take to read what the daemon types.
const typeTimeout = 3 * time.Second

// answer answers a question of the daemon.
func (s *Shell) answer(q shellpty.Question) shellpty.Answer {
	a := shellpty.Answer{PID: s.leader, TTY: s.tty, Program: filepath.Base(s.program)}
	s.keyboard.Lock()
	if !s.lastKey.IsZero() {
		a.LastKey = s.lastKey.UnixNano()
	}
	a.Keys = s.keys
	switch {
	case q.Type == "":
	case q.IfKeys != nil && *q.IfKeys != s.keys:
		a.InUse = true
	default:
		_ = s.pty.SetWriteDeadline(time.Now().Add(typeTimeout))
		if _, err := s.pty.WriteString(q.Type); err != nil {
			a.Failed = "type for the daemon: " + err.Error()
		}
		_ = s.pty.SetWriteDeadline(time.Time{})
	}
	s.keyboard.Unlock()
	if q.Screen {
		s.display.Lock()
		a.Screen = s.screen.Text()
		s.display.Unlock()
	}
	return a
}
