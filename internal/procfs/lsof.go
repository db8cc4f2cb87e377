package procfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrUnseen says that it cannot be known which processes there are, or what one of them does.
// It does not mean that there is none.
var ErrUnseen = errors.New("processes cannot be seen here: give it a /proc that shows them, or lsof where there is no such thing")

// askPatience bounds how long another program may run.
const askPatience = 10 * time.Second

// ask runs a program that lists processes. lsof exits with an error if it finds nothing, so the
// caller has to check the output.
func ask(ctx context.Context, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, _ := cmd.Output()
	return string(out)
}

// WritersByLsof returns the processes except this one that have a file open for writing, or an error
// if they cannot be known. It is for systems without /proc.
func (f FS) WritersByLsof(ctx context.Context, path string) ([]int, error) {
	if !f.asks() {
		return nil, fmt.Errorf("look who has %s open: %w", path, ErrUnseen)
	}
	_, writers, err := usersByLsof(ctx, path)
	return slices.DeleteFunc(writers, func(pid int) bool { return pid == os.Getpid() }), err
}

// usersByLsof returns the processes that have a file open, and those of them that may write to
// it. Our own pid is in the query to check that lsof works at all.
func usersByLsof(ctx context.Context, path string) (users, writers []int, err error) {
	out := ask(ctx, "lsof", "-w", "-Fpan", "-p", strconv.Itoa(os.Getpid()), "--", path)
	seen, pid, access := false, 0, ""
	for line := range strings.Lines(out) {
		value := strings.TrimSuffix(line[1:], "\n")
		switch line[0] {
		case 'p':
			pid, _ = strconv.Atoi(value) // lsof always prints a number
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

// openByLsof returns the open files of a process.
func openByLsof(pid int) ([]File, error) {
	out := ask(context.Background(), "lsof", "-w", "-Ffn", "-p", strconv.Itoa(pid))
	var files []File
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n/"); found {
			files = append(files, File{Name: "/" + name})
		}
	}
	if len(files) == 0 && !ended(pid) { // each process has at least its program and directory open
		return nil, fmt.Errorf("look what process %d has open: %w", pid, ErrUnseen)
	}
	return files, nil
}
