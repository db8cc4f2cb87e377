package procfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrUnseen says that it cannot be known which processes there are, or what one
// of them does. That is not the same as that there is none.
var ErrUnseen = errors.New("processes cannot be seen here: give it a /proc that shows them, or ps and lsof where there is no such thing")

// askPatience bounds how long another program is asked about processes.
const askPatience = 10 * time.Second

// ask runs a program that tells of processes. lsof ends with an error where it
// finds nothing: whoever asks knows an answer by what is in it.
func ask(ctx context.Context, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, _ := cmd.Output()
	return string(out)
}

// listed is one line of ps.
type listed struct {
	pid     int
	command string
}

// listByPS returns this user's processes, and for root everybody's. A list in
// which we are not ourselves is none.
func listByPS(ctx context.Context, options ...string) ([]listed, error) {
	var all []listed
	seen := false
	out := ask(ctx, "ps", append(options, "-o", "pid=", "-o", "uid=", "-o", "command=")...)
	for line := range strings.Lines(out) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		second, command, _ := strings.Cut(strings.TrimSpace(rest), " ")
		pid, err := strconv.Atoi(first)
		uid, uidErr := strconv.Atoi(second)
		if err != nil || uidErr != nil || uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		seen = seen || pid == os.Getpid()
		all = append(all, listed{pid, strings.TrimSpace(command)})
	}
	if !seen {
		return nil, fmt.Errorf("list processes: %w", ErrUnseen)
	}
	return all, nil
}

// words takes a command apart that ps has put together. A blank may also be part
// of a path: what is no file by itself but one together with the next is that.
func words(command string) []string {
	pieces := strings.Fields(command)
	var argv []string
	for len(pieces) > 0 {
		n := 1
		if strings.HasPrefix(pieces[0], "/") {
			n = lengthOfPath(pieces)
		}
		argv = append(argv, strings.Join(pieces[:n], " "))
		pieces = pieces[n:]
	}
	return argv
}

// lengthOfPath returns how many of the pieces are one path.
func lengthOfPath(pieces []string) int {
	const most = 8
	for n := 1; n <= min(most, len(pieces)); n++ {
		if info, err := os.Stat(strings.Join(pieces[:n], " ")); err == nil && (n > 1 || !info.IsDir()) {
			return n
		}
	}
	return 1
}

// environByPS returns what ps shows of a process's environment, after its
// arguments. A value with a blank in it is cut there.
func environByPS(pid int) ([]string, error) {
	out := ask(context.Background(), "ps", "eww", "-o", "command=", "-p", strconv.Itoa(pid))
	if out == "" {
		return nil, fmt.Errorf("read the environment of process %d: %w", pid, ErrUnseen)
	}
	return strings.Fields(out), nil
}

// havingByPS returns who has a variable in the environment that ps shows. Where it
// does not even show ours, it shows none.
func havingByPS(ctx context.Context, name string) (map[int]string, error) {
	all, err := listByPS(ctx, "axeww")
	if err != nil {
		return nil, err
	}
	found := make(map[int]string)
	for _, l := range all {
		shown := strings.Fields(l.command)
		if l.pid == os.Getpid() && os.Getenv("PATH") != "" && variable(shown, "PATH") == "" {
			return nil, fmt.Errorf("read environments: %w", ErrUnseen)
		}
		if value := variable(shown, name); value != "" {
			found[l.pid] = value
		}
	}
	return found, nil
}

// argvByPS returns the arguments of one process, as far as ps tells them.
func argvByPS(pid int) []string {
	return words(ask(context.Background(), "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)))
}

// cwdByLsof returns the directory that a process works in; empty where it has
// ended.
func cwdByLsof(pid int) (string, error) {
	out := ask(context.Background(), "lsof", "-w", "-a", "-p", strconv.Itoa(pid), "-d", "cwd", "-Fn")
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n/"); found {
			return "/" + name, nil
		}
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return "", nil
	}
	return "", fmt.Errorf("read the directory of process %d: %w", pid, ErrUnseen)
}

// usersByLsof returns who has a file open, and of them who may write into it. We
// are asked for too, to see that it answers at all.
func usersByLsof(ctx context.Context, path string) (users, writers []int, err error) {
	out := ask(ctx, "lsof", "-w", "-Fpan", "-p", strconv.Itoa(os.Getpid()), "--", path)
	seen, pid, access := false, 0, ""
	for line := range strings.Lines(out) {
		value := strings.TrimSuffix(line[1:], "\n")
		switch line[0] {
		case 'p':
			pid, _ = strconv.Atoi(value) // lsof's own form: a number
			seen = seen || pid == os.Getpid()
		case 'a':
			access = value
		case 'n':
			if value != path {
				continue
			}
			users = append(users, pid)
			if access != "r" {
				writers = append(writers, pid)
			}
		}
	}
	if !seen {
		return nil, nil, fmt.Errorf("look who has %s open: %w", path, ErrUnseen)
	}
	return users, writers, nil
}
