package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pairs is how many daemons run alone, and how many in a fleet, at the same time.
const pairs = 3

// settled is how long they run before the comparison: long enough for several heartbeats.
const settled = time.Minute

// fleet measures what a daemon costs more in a fleet. Both kinds are started in turn and run at the
// same time, so that load on the machine affects both.
func (r *report) fleet(dir string) error {
	place := filepath.Join(dir, "fleet")
	defer os.RemoveAll(place)
	invitation, closeHub, err := r.hub(filepath.Join(place, "hub"))
	if err != nil {
		return err
	}
	defer closeHub()
	var alone, member []*daemon
	for i := range pairs {
		for _, name := range []string{fmt.Sprint("alone", i), fmt.Sprint("member", i)} {
			join := strings.HasPrefix(name, "member")
			d, err := r.neighbour(filepath.Join(place, name), name, invitation, join)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			defer d.stop()
			if join {
				member = append(member, d)
			} else {
				alone = append(alone, d)
			}
		}
	}
	time.Sleep(settled)
	without, with := middle(alone), middle(member)
	r.fixed = append(r.fixed, row{
		fmt.Sprintf("RssAnon / RSS of a daemon of 10 sessions after a minute, alone and in a fleet (the middle one of %d each, side by side)", pairs),
		fmt.Sprintf("%s, %s: %+.1f / %+.1f MB", without, with, with.anon-without.anon, with.rss-without.rss),
	})
	return nil
}

// hub runs the server of a fleet, and returns the line with which daemons join it.
func (r *report) hub(dir string) (invitation string, stop func(), err error) {
	line, err := exec.Command(r.binary, "hub", "init", "--dir", dir, "--listen", "127.0.0.1:24222").Output()
	if err != nil {
		return "", nil, fmt.Errorf("make a hub: %w", err)
	}
	server := exec.Command(r.binary, "hub", "--dir", dir)
	log, err := server.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	said := make(chan string, 1<<10)
	go feed(bufio.NewScanner(log), said)
	if err := await(said, func(line string) bool { return strings.Contains(line, "ready") }); err != nil {
		stop()
		return "", nil, err
	}
	words := strings.Fields(string(line))
	return words[len(words)-1], stop, nil
}

// neighbour runs a daemon in its own home, alone or as a member of the fleet.
func (r *report) neighbour(dir, name, invitation string, join bool) (*daemon, error) {
	h, err := newHome(dir, 10)
	if err != nil {
		return nil, err
	}
	if join {
		c := exec.Command(r.binary, "fleet", "join", invitation, "--name", name)
		c.Env = environment(h)
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("join: %w: %s", err, out)
		}
	}
	return start(r.binary, h)
}

// middle returns the median memory of the daemons.
func middle(daemons []*daemon) memory {
	var used []memory
	for _, d := range daemons {
		used = append(used, d.memory())
	}
	slices.SortFunc(used, func(a, b memory) int { return cmp.Compare(a.anon, b.anon) })
	return used[len(used)/2]
}
