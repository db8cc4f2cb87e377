// Package dirs says where the directories of resumed are: state, socket, leases and settings. All parts
// ask here, so that they find each other.
package dirs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// own is the name of resumed's directory in a directory that programs share.
const own = "resumed"

// State returns the state directory: the one that systemd made for the service, otherwise the user's
// own.
func State(getenv func(string) string) (string, error) {
	if dir, err := serviceDir(getenv, "STATE_DIRECTORY"); dir != "" || err != nil {
		return dir, err
	}
	if dir := UserState(getenv); dir != "" {
		return dir, nil
	}
	return "", errors.New("find the state directory: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set to an absolute path")
}

// UserState returns the user's own state directory, also if the service has another one. It is empty if there is no
// home.
func UserState(getenv func(string) string) string {
	base := XDG(getenv, "XDG_STATE_HOME", ".local/state")
	if base == "" {
		return ""
	}
	return filepath.Join(base, own)
}

// HowToOwn returns the command that gives a directory to a user. One that does not exist is made: those above
// it may belong to everybody.
func HowToOwn(dir, user string) string {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "sudo install -d -o " + user + " " + dir
	}
	return "sudo chown -R " + user + " " + dir
}

// Config returns the directory in which each of the user's programs has a directory of settings; empty
// if there is no home.
func Config(getenv func(string) string) string { return XDG(getenv, "XDG_CONFIG_HOME", ".config") }

// XDG returns a directory by the XDG rules: the one in the variable, otherwise the default in the home.
// By these rules a relative path is ignored.
func XDG(getenv func(string) string, variable, usual string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, usual)
	}
	return ""
}

// Runtime returns the directory for the socket: one that is removed with the login or the service,
// otherwise the state directory.
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

// Login returns the directory that is removed with the user's login, and whether the environment names
// it. For a cron job and a system service it does not: then the usual path is returned, which may not
// exist.
func Login(getenv func(string) string) (dir string, told bool) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir, true
	}
	return fmt.Sprintf("/run/user/%d", os.Getuid()), false
}

// Sockets returns where a daemon may have its socket. A system service has no runtime directory of the
// user, and a login over ssh or a cron job may have none even if the daemon has one. If its usual path
// was taken, a daemon uses its state directory, which no other daemon uses: so that comes first.
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

// Leases returns the directories of the leases: beside the state directory, so that daemons with other
// state directories share it, and in the directory that is removed with the login, if there is one. A
// lease is taken in all of them: cron jobs and system services know fewer directories than a login, and
// each must see the leases of the others.
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

// Measure returns how many files are below dir, and their total size. Small marker files ("agent",
// "*.exit") do not count.
func Measure(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // unreadable files are not counted
		if err == nil && entry.Type().IsRegular() && entry.Name() != "agent" && filepath.Ext(entry.Name()) != ".exit" {
			if info, err := entry.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
		}
		return nil
	})
	return files, bytes
}

// dryRunPrefix is the first part of the name of a dry run's directory. Like daemons, dry runs are
// distinguished by the state directory that they would use.
func dryRunPrefix(stateDir string) string {
	return fmt.Sprintf("resumed-dry-run-%.4x-", sha256.Sum256([]byte(stateDir)))
}

// MakeDryRun makes the directory for the state and the socket of a dry run.
func MakeDryRun(stateDir string) (string, error) {
	dir, err := os.MkdirTemp("", dryRunPrefix(stateDir))
	if err != nil {
		return "", fmt.Errorf("make a directory for the dry run: %w", err)
	}
	return dir, nil
}

// DryRuns returns the directories of the user's dry runs, also of those that crashed. Other users'
// directories are ignored: the temporary directory is shared.
func DryRuns(stateDir string) []string {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dryRunPrefix(stateDir)+"*"))
	if err != nil {
		return nil // the path is not a valid pattern
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Lstat(dir)
		if err != nil {
			return true
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return !ok || !info.IsDir() || int(stat.Uid) != os.Getuid()
	})
}
