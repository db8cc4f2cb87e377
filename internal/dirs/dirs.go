// Package dirs says where resumed keeps what is its own: state, socket, leases
// and settings. All look for them here, so that they find each other.
package dirs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// own is the name of resumed's directory in a place that programs share.
const own = "resumed"

// State returns the directory that holds the state: the one systemd made for
// the service, else the user's own.
func State(getenv func(string) string) (string, error) {
	if dir, err := serviceDir(getenv, "STATE_DIRECTORY"); dir != "" || err != nil {
		return dir, err
	}
	if dir := UserState(getenv); dir != "" {
		return dir, nil
	}
	return "", errors.New("find the state directory: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path")
}

// UserState returns the user's own state directory, also where the service was
// given another: what the user's programs write for the daemon is there. It is
// empty where there is no home.
func UserState(getenv func(string) string) string {
	base := xdg(getenv, "XDG_STATE_HOME", ".local/state")
	if base == "" {
		return ""
	}
	return filepath.Join(base, own)
}

// Config returns the directory in which the user's programs have a directory of
// settings each; empty where there is no home.
func Config(getenv func(string) string) string { return xdg(getenv, "XDG_CONFIG_HOME", ".config") }

// xdg returns a directory by the XDG rules: the one that a variable names, else
// the usual one in the home. They say that a relative path is to be passed over.
func xdg(getenv func(string) string, variable, usual string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, usual)
	}
	return ""
}

// Runtime returns the directory that holds the socket: what goes away with
// the login or the service where there is such a place, else the state directory.
func Runtime(getenv func(string) string) (string, error) {
	if dir, err := serviceDir(getenv, "RUNTIME_DIRECTORY"); dir != "" || err != nil {
		return dir, err
	}
	if login, told := Login(getenv); told {
		return filepath.Join(login, own), nil
	}
	return State(getenv)
}

// serviceDir reads a variable in which systemd lists a service's directories.
func serviceDir(getenv func(string) string, name string) (string, error) {
	first, _, _ := strings.Cut(getenv(name), ":")
	if first != "" && !filepath.IsAbs(first) {
		return "", fmt.Errorf("read %s: %q is not an absolute path", name, first)
	}
	return first, nil
}

// Login returns the directory that goes away with the user's login, and whether
// the environment tells of it. A cron job and a service of the system's manager
// are not told: for them it is where it usually is, and may not be there.
func Login(getenv func(string) string) (dir string, told bool) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir, true
	}
	return fmt.Sprintf("/run/user/%d", os.Getuid()), false
}

// Sockets returns where a daemon may have its socket. One that the system's
// service manager runs has no runtime directory of the user's, and a login over
// ssh or in a cron job may have none where the daemon has. A daemon that found
// the usual place taken is in its state directory, and nobody else is: that
// comes first.
func Sockets(getenv func(string) string) []string {
	var all []string
	if dir, err := State(getenv); err == nil {
		all = append(all, dir)
	}
	if dir, err := Runtime(getenv); err == nil {
		all = append(all, dir)
	}
	if login, told := Login(getenv); !told {
		all = append(all, filepath.Join(login, own))
	}
	return all
}

// Leases returns where the leases of a machine's user are: beside the state
// directory, so that daemons with state of their own share it, and in the place
// that goes away with the login, where there is one. A lease is held in all of
// them: a cron job and a system's service know less of where to look than a
// login does, and each must see what the others hold.
func Leases(getenv func(string) string, stateDir string) []string {
	login, told := Login(getenv)
	return leases(stateDir, login, told)
}

func leases(stateDir, login string, told bool) []string {
	all := []string{filepath.Join(filepath.Dir(stateDir), own, "leases")}
	if info, err := os.Stat(login); told || err == nil && info.IsDir() {
		all = append(all, filepath.Join(login, own, "leases"))
	}
	return all
}

// Measure returns how many files are below dir, and how large they are together. Notes of a few bytes
// (whose directory it is, how a command ended) do not count.
func Measure(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read is not counted
		if err == nil && entry.Type().IsRegular() && entry.Name() != "agent" && filepath.Ext(entry.Name()) != ".exit" {
			if info, err := entry.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
		}
		return nil
	})
	return files, bytes
}
