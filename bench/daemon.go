package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience limits every wait for a daemon.
const patience = 5 * time.Minute

// daemon is a running resumed.
type daemon struct {
	cmd    *exec.Cmd
	home   *home
	logged chan string // lines of its log
	shown  chan string // lines of its stream of changes
	stream context.CancelFunc

	wall, cpu time.Duration // until all existing transcripts were read
}

// start runs a daemon in the home and returns when it has read everything.
func start(binary string, h *home) (*daemon, error) {
	d := &daemon{cmd: exec.Command(binary, "run", "--log-format", "json"), home: h, logged: make(chan string, 1<<16), stream: func() {}}
	d.cmd.Env = environment(h)
	out, err := d.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go feed(bufio.NewScanner(out), d.logged)
	if err := await(d.logged, func(line string) bool { return strings.Contains(line, `"msg":"found"`) }); err != nil {
		d.stop()
		return nil, fmt.Errorf("start: %w", err)
	}
	d.wall, d.cpu = time.Since(begin), d.used()
	return d, nil
}

func environment(h *home) []string {
	return []string{"HOME=" + h.dir, "PATH=/usr/bin:/bin", "TZ=UTC"}
}

// follow opens the stream of changes.
func (d *daemon) follow() error {
	ctx, cancel := context.WithCancel(context.Background())
	d.stream = cancel
	socket := filepath.Join(d.home.dir, ".local/state/resumed/resumed.sock")
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://resumed/v1/events", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	d.shown = make(chan string, 1<<16)
	go func() {
		defer answer.Body.Close()
		feed(bufio.NewScanner(answer.Body), d.shown)
	}()
	return await(d.shown, func(string) bool { return true })
}

func feed(lines *bufio.Scanner, to chan<- string) {
	defer close(to)
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		to <- lines.Text()
	}
}

// await reads lines until the wanted one.
func await(lines <-chan string, wanted func(string) bool) error {
	timeout := time.After(patience)
	for {
		select {
		case line, open := <-lines:
			if !open {
				return errors.New("it ended")
			}
			if wanted(line) {
				return nil
			}
		case <-timeout:
			return fmt.Errorf("nothing came within %s", patience)
		}
	}
}

func (d *daemon) stop() {
	d.stream()
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	for range d.logged {
	}
	_ = d.cmd.Wait() // it was ended by a signal
}

// threads sums up a number that the kernel tells of each thread of a process. Threads that have ended
// are not counted: Go keeps its threads.
func threads(pid int, file string, read func(text string) string) (sum int64) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		n, _ := strconv.ParseInt(strings.TrimSpace(read(string(data))), 10, 64)
		sum += n
	}
	return sum
}

// used returns the processor time of the daemon so far.
func (d *daemon) used() time.Duration {
	return time.Duration(threads(d.cmd.Process.Pid, "schedstat", func(text string) string {
		first, _, _ := strings.Cut(text, " ")
		return first
	}))
}

// wakeUps returns how often the daemon has woken up.
func (d *daemon) wakeUps() int64 {
	return threads(d.cmd.Process.Pid, "status", func(text string) string {
		_, after, _ := strings.Cut(text, "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(after, "\n")
		return line
	})
}

// memory is the memory of a process, in MB: anon is its own data; rss includes pages of the program's
// file, which the kernel can drop.
type memory struct{ anon, rss float64 }

func (m memory) String() string { return fmt.Sprintf("%.0f / %.0f MB", m.anon, m.rss) }

func (d *daemon) memory() (m memory) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kib, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "RssAnon:":
			m.anon = kib * 1024 / 1e6
		case "VmRSS:":
			m.rss = kib * 1024 / 1e6
		}
	}
	return m
}
