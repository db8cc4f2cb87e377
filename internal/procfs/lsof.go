package procfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// ErrUnseen says that it cannot be known which processes there are, or what one
// of them does. That is not the same as that there is none.
var ErrUnseen = errors.New("processes cannot be seen here: give it a /proc that shows them, or lsof where there is no such thing")

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

// openByLsof returns what a process has open.
func openByLsof(pid int) ([]File, error) {
	out := ask(context.Background(), "lsof", "-w", "-Ffn", "-p", strconv.Itoa(pid))
	var files []File
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "n/"); found {
			files = append(files, File{Name: "/" + name})
		}
	}
	if len(files) == 0 && !ended(pid) { // it has its program open, and where it works
		return nil, fmt.Errorf("look what process %d has open: %w", pid, ErrUnseen)
	}
	return files, nil
}
