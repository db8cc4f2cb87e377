//go:build !windows

package shell

import (
	"path/filepath"

	"resumed/internal/terminal/shellpty"
)

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
		if _, err := s.pty.WriteString(q.Type); err != nil {
			a.Failed = "type for the daemon: " + err.Error()
		}
	}
	s.keyboard.Unlock()
	if q.Screen {
		s.display.Lock()
		a.Screen = s.screen.Text()
		s.display.Unlock()
	}
	return a
}
