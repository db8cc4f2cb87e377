package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fleet measures what a daemon costs more where it is one of a fleet.
func (r *report) fleet(dir string) error {
	place := filepath.Join(dir, "fleet")
	alone, err := newHome(filepath.Join(place, "alone"), 10)
	if err != nil {
		return err
	}
	member, err := newHome(filepath.Join(place, "member"), 10)
	if err != nil {
		return err
	}
	hub := filepath.Join(place, "hub")
	line, err := exec.Command(r.binary, "hub", "init", "--dir", hub, "--listen", "127.0.0.1:24222").Output()
	if err != nil {
		return fmt.Errorf("make a hub: %w", err)
	}
	server := exec.Command(r.binary, "hub", "--dir", hub)
	log, err := server.StderrPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	said := make(chan string, 1<<10)
	go feed(bufio.NewScanner(log), said)
	if err := await(said, func(line string) bool { return strings.Contains(line, "ready") }); err != nil {
		return err
	}
	words := strings.Fields(string(line))
	join := exec.Command(r.binary, "fleet", "join", words[len(words)-1], "--name", "member")
	join.Env = environment(member)
	if out, err := join.CombinedOutput(); err != nil {
		return fmt.Errorf("join: %w: %s", err, out)
	}
	var used [2]float64
	for i, h := range []*home{alone, member} {
		d, err := start(r.binary, h)
		if err != nil {
			return err
		}
		time.Sleep(20 * time.Second) // a heartbeat, and what the start took is given back
		used[i] = rssOf(d.cmd.Process.Pid)
		d.stop()
	}
	r.peers = append(r.peers, row{"RSS of a daemon of 10 sessions, alone and in a fleet", fmt.Sprintf("%.1f MB, %.1f MB", used[0], used[1])})
	return nil
}
