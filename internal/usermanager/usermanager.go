// Package usermanager tells whether a user's service manager started this daemon. Resumes are then
// units of that manager, and not children of the daemon.
package usermanager

import (
	"os"
	"path/filepath"
	"strconv"

	"resumed/internal/dirs"
)

// Started reports whether a user's service manager started this daemon. A shell in a unit passes
// the unit's variables on, so they must name this process.
func Started() bool {
	if os.Getenv("INVOCATION_ID") == "" {
		return false
	}
	self, told := os.LookupEnv("SYSTEMD_EXEC_PID") // since systemd 248
	if told && self != strconv.Itoa(os.Getpid()) || !told && os.Getenv("NOTIFY_SOCKET") == "" {
		return false
	}
	login, told := dirs.Login(os.Getenv)
	_, err := os.Stat(filepath.Join(login, "systemd", "private"))
	return told && err == nil
}

// Starter returns the process that starts resumes: the manager, or this daemon.
func Starter() int {
	if Started() {
		return os.Getppid()
	}
	return os.Getpid()
}
