package service

import (
	"context"
	"path/filepath"
	"runtime"
)

// Report collects the findings about the service.
type Report interface {
	OK(name, text string)
	Warn(name, text, fix string)
}

// Examine reports whether something starts the daemon.
func Examine(ctx context.Context, report Report) {
	switch m, err := userManager(); {
	case runtime.GOOS != "linux" && runtime.GOOS != "darwin":
		report.OK("systemd", "not on "+runtime.GOOS)
	case err != nil:
		report.Warn("systemd", err.Error(), "")
	default:
		m.examine(ctx, report)
	}
}

// HowToStart returns how to start a daemon that is not running.
func HowToStart() string {
	m, err := newSystemdUser()
	if err == nil && runtime.GOOS == "linux" && (exists(filepath.Join(m.dir, unitName)) || m.packaged()) {
		return "systemctl --user start resumed, and if it does not stay: journalctl --user -u resumed -n 20"
	}
	return "resumed install (as a service), or resumed run (in this terminal)"
}

// RecordedPath returns the PATH that install recorded for the service, or "".
func RecordedPath() string {
	m, err := newSystemdUser()
	if err != nil {
		return ""
	}
	return recordedPath(m.allFiles())
}
