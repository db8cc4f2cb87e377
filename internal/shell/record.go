//go:build !windows

package shell

import (
	"slices"
	"time"

	"resumed/internal/procfs"
)

const (
	// recordEvery is how often the start of the agent is recorded, as long as it prints something. A
	// record only counts for the prompts before it.
	recordEvery = 5 * time.Second

	// recordAgain is the time to the next try if the agent's session is not known yet.
	recordAgain = 500 * time.Millisecond
)

// record records the start of the agent while it works, also for a daemon that runs later.
func (s *Shell) record(record func(pids []int) bool) {
	for range s.moved {
		pause := recordAgain
		if record(s.processes()) {
			pause = recordEvery
		}
		time.Sleep(pause)
	}
}

// processes returns the processes in the agent's terminal.
func (s *Shell) processes() []int {
	device, err := procfs.Terminal(s.tty)
	if err != nil {
		return nil
	}
	pids, _ := procfs.Proc.PIDs() // none if they cannot be read
	return slices.DeleteFunc(pids, func(pid int) bool {
		stat, err := procfs.Proc.Stat(pid)
		return err != nil || stat.TTY != device || pid == s.leader
	})
}
