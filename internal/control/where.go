package control

import (
	"os"
	"path/filepath"
	"slices"

	"resumed/internal/dirs"
)

// SocketDir returns the directory of the daemon's socket. If no daemon runs, it is that of a
// dry run, or the one where a daemon would listen.
func SocketDir(getenv func(string) string) string {
	dir, answers := daemonDir(getenv)
	own, err := dirs.State(getenv)
	if answers || err != nil {
		return dir
	}
	for _, dryRun := range dirs.DryRuns(own) {
		if Answers(dryRun) {
			return dryRun
		}
	}
	return dir
}

// DaemonDir is SocketDir without dry runs.
func DaemonDir(getenv func(string) string) string {
	dir, _ := daemonDir(getenv)
	return dir
}

func daemonDir(getenv func(string) string) (dir string, answers bool) {
	places := dirs.Sockets(getenv)
	if i := slices.IndexFunc(places, Answers); i >= 0 {
		return places[i], true
	}
	for _, place := range places { // a socket that does not answer is reported too
		if _, err := os.Stat(filepath.Join(place, SocketName)); err == nil {
			return place, false
		}
	}
	dir, err := dirs.Runtime(getenv)
	if err != nil {
		dir = os.DevNull // without a home directory there is no daemon
	}
	return dir, false
}
