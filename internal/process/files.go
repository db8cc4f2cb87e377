package process

import (
	"context"
	"os"
	"slices"
	"strings"

	"resumed/internal/procfs"
)

// having is the key of the processes that have a variable, by its name.
type having string

// Having returns the processes that have a variable in their environment, with its value, or
// an error if they cannot be known.
func (t Table) Having(ctx context.Context, name string) (map[int]string, error) {
	found := Once(ctx, t, having(name), func() known[map[int]string] { return knownAs(t.FS.Having(ctx, name)) })
	return found.value, found.err
}

// known is a value, or the error why it is not known.
type known[V any] struct {
	value V
	err   error
}

func knownAs[V any](value V, err error) known[V] { return known[V]{value, err} }

// openFiles is the key of all open files.
type openFiles struct{}

// Writers returns the processes except this one that have the file of that name open for
// writing, or an error if they cannot be known.
func (t Table) Writers(ctx context.Context, name string) ([]int, error) {
	if !t.Seen() {
		return t.WritersByLsof(ctx, name)
	}
	users := Once(ctx, t, openFiles{}, t.users)
	if users.err != nil {
		return nil, users.err
	}
	return slices.DeleteFunc(slices.Clone(users.value[name]), func(pid int) bool { return !t.Writes(pid, name) }), nil
}

// users returns the pids of all processes except this one by the files that they have open.
func (t Table) users() known[map[string][]int] {
	pids, err := t.PIDs()
	users := make(map[string][]int)
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		files, _ := t.Open(pid) // empty if it has ended or is another user's
		for _, file := range files {
			if strings.HasPrefix(file.Name, "/") && !slices.Contains(users[file.Name], pid) {
				users[file.Name] = append(users[file.Name], pid)
			}
		}
	}
	return knownAs(users, err)
}

// openOf is the key of the open files of a process, by its pid.
type openOf int

// OpenFiles returns the open files of a process, or an error if they cannot be known.
func (t Table) OpenFiles(ctx context.Context, pid int) ([]procfs.File, error) {
	open := Once(ctx, t, openOf(pid), func() known[[]procfs.File] { return knownAs(t.Open(pid)) })
	return open.value, open.err
}
