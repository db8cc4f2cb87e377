package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"resumed/internal/resume"
)

// CheckDir returns nil for a directory that the session can work in, else why nothing may be sent.
func CheckDir(s resume.Session, dir string) *Leave {
	if dir == "" {
		return Parked("the session's directory is not known").Leave
	}
	if !filepath.IsAbs(dir) {
		return Parked("the session's directory %s is not an absolute path", dir).Leave
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return Parked("the session's directory %s is not a directory any more", dir).Leave
	}
	why := fmt.Sprintf("the session's directory cannot be used: %v", err)
	if errors.Is(err, os.ErrNotExist) {
		why = fmt.Sprintf("the session's directory %s is gone", dir)
	}
	if !MayComeBack(s) {
		return Parked("%s", why).Leave
	}
	return &Leave{Why: why + ": it is continued when that is back", Tell: true}
}

// MayComeBack reports whether the session's directory is still waited for: with a disk, a mount, a rename
// it may come back. One that is away for days was deleted.
func MayComeBack(s resume.Session) bool {
	const days = 3 * 24 * time.Hour
	return time.Since(s.WaitFrom) < days || time.Since(s.Limit.Reset.At) < days
}
