package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// taskbot takes tasks of the queue. It has an account of its own, so that the limits of the
// others do not hold it up.
const taskbot = `
[[agent]]
name = "taskbot"
kind = "custom"
files = ["%[1]s/tasks/*.log"]
session = '([^/]+)\.log$'
cwd = "%[1]s"
limit = ['rate limited']
progress = ['^step ']
start = ["%[1]s/begin", "{session}", "{prompt}"]
resume = ["%[1]s/begin", "{session}", "resumed"]
`

// begin is what starts a task: it writes down which one, and may outlive the daemon.
const begin = `#!/bin/sh
echo "$2" >> "$HOME/begun"
case $RESUMED_MARK in [0-7]*) ;; *) sleep 0.6 ;; esac
echo "step $RESUMED_MARK" >> "$HOME/tasks/$1.log"
`

// enqueue adds a task. If the command failed, as it may while a daemon dies, nobody knows whether it was added.
func (w *world) enqueue() {
	name := fmt.Sprint("task-", len(w.queued))
	w.queued[name] = w.command("queue", "add", "--agent", "taskbot", "--dir", w.home, "--", name).Run() == nil
}

// started counts how often each task was started, and returns those that were added and not started.
func (w *world) started() (begun map[string]int, left []string) {
	data, err := os.ReadFile(filepath.Join(w.home, "begun"))
	require.NoError(w.t, err)
	begun = make(map[string]int)
	for name := range strings.FieldsSeq(string(data)) {
		begun[name]++
		require.Equal(w.t, 1, begun[name], "%s was started twice", name)
		require.Contains(w.t, w.queued, name, "nobody added it")
	}
	for name, added := range w.queued {
		if added && begun[name] == 0 {
			left = append(left, name+" was not started")
		}
	}
	return begun, left
}
