package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nxadm/tail"
)

// benchLine matches a line of `go test -bench` with a value in one of these units.
var benchLine = regexp.MustCompile(`(?m)^Benchmark\w+/(\S+?)-?\d*\s+\d+\s+([\d.]+) (MB/cpu-s|ns/op)`)

// benchmarks runs benchmarks of a package, and returns the best value of each and their names in order.
func benchmarks(dir, pattern, of string, better func(a, b float64) float64) (best map[string]float64, names []string, err error) {
	c := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", "0.5s", "-count", "3", of)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w\n%s", pattern, err, out)
	}
	best = make(map[string]float64)
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		name := strings.ReplaceAll(m[1], "_", " ")
		value, _ := strconv.ParseFloat(m[2], 64)
		if known, ok := best[name]; ok {
			value = better(value, known)
		} else {
			names = append(names, name)
		}
		best[name] = value
	}
	return best, names, nil
}

// reading measures how fast transcripts are read, compared with programs that search or parse them.
func (r *report) reading(dir string) error {
	best, names, err := benchmarks(".", "Reading", "./internal/feed", math.Max)
	if err != nil {
		return err
	}
	for _, name := range names {
		agent, _, _ := strings.Cut(name, ",")
		if read := best[agent+", read"]; read > 0 && name != agent+", read" {
			r.peers = append(r.peers, row{"reading: " + name, fmt.Sprintf("%.0f MB per CPU second (%.2f × read())", best[name], best[name]/read)})
		} else {
			r.peers = append(r.peers, row{"reading: " + name + "()", fmt.Sprintf("%.0f MB per CPU second", best[name])})
		}
	}
	return r.searching(dir)
}

// searching measures programs that search for one word in as many bytes.
func (r *report) searching(dir string) error {
	h, err := newHome(filepath.Join(dir, "search"), 1)
	if err != nil {
		return err
	}
	one, err := os.ReadFile(h.sessions[0].path)
	if err != nil {
		return err
	}
	big := filepath.Join(dir, "search", "big.jsonl")
	text := bytes.Repeat(one, 128<<20/len(one))
	if err := os.WriteFile(big, text, 0o600); err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(dir, "search"))
	for _, command := range [][]string{{"rg", "-F", "-c", "isApiErrorMessage"}, {"grep", "-F", "-c", "isApiErrorMessage"}} {
		name := "reading: " + strings.Join(command, " ")
		if _, err := exec.LookPath(command[0]); err != nil {
			r.peers = append(r.peers, row{name, "not installed"})
			continue
		}
		least := time.Hour
		for range 5 {
			c := exec.Command(command[0], append(command[1:], big)...)
			_ = c.Run() // exit code 1: not found, as expected
			least = min(least, childTime(c))
		}
		r.peers = append(r.peers, row{name, fmt.Sprintf("%.0f MB per CPU second", float64(len(text))/1e6/least.Seconds())})
	}
	return nil
}

// delay measures the cost of one delay, compared with other backoff libraries.
func (r *report) delay() error {
	best, names, err := benchmarks("internal/backoff/bench", "Delay", ".", math.Min)
	for _, name := range names {
		r.peers = append(r.peers, row{"one delay: " + name, fmt.Sprintf("%.1f ns", best[name])})
	}
	return err
}

// mostTails limits the files for nxadm/tail: each one needs a goroutine, a buffer and a descriptor.
const mostTails = 10_000

// tails makes nxadm/tail watch the same files, and a poller check them every five seconds, as scripts
// do.
func (r *report) tails(h *home, order []int) error {
	n := len(h.sessions)
	if n > mostTails || len(order) == 0 {
		return nil
	}
	before := cpuOf(os.Getpid())
	held := memoryOf(os.Getpid()).rss
	came := make(chan string, n)
	var all []*tail.Tail
	for _, s := range h.sessions {
		t, err := tail.TailFile(s.path, tail.Config{Follow: true, Logger: tail.DiscardingLogger, Location: &tail.SeekInfo{Whence: 2}})
		if err != nil {
			r.add("peer nxadm/tail: start", n, "%v", err)
			return nil
		}
		all = append(all, t)
		go func() {
			for range t.Lines {
				came <- s.path
			}
		}()
	}
	for busy := before; cpuOf(os.Getpid())-busy > 10*time.Millisecond; { // each file is opened by its own goroutine
		busy = cpuOf(os.Getpid())
		time.Sleep(time.Second)
	}
	r.add("peer nxadm/tail: start", n, "%.2f s CPU, %.0f MB", (cpuOf(os.Getpid()) - before).Seconds(), memoryOf(os.Getpid()).rss-held)
	var took []time.Duration
	for _, i := range order[:min(len(order), 100)] {
		begin := time.Now()
		if err := h.limit(h.sessions[i]); err != nil {
			return err
		}
		if awaitPath(came, h.sessions[i].path) {
			took = append(took, time.Since(begin))
		}
		time.Sleep(15 * time.Millisecond)
	}
	if len(took) > 0 {
		r.add("peer nxadm/tail: append → line, p50 / p99", n, "%s", quantiles(took))
	}
	var stopping sync.WaitGroup
	for _, t := range all {
		stopping.Go(func() { _ = t.Stop() })
	}
	stopping.Wait()
	return r.poll(h, order)
}

// awaitPath reports whether a line of that file came within five seconds.
func awaitPath(came <-chan string, path string) bool {
	timeout := time.After(5 * time.Second)
	for {
		select {
		case from := <-came:
			if from == path {
				return true
			}
		case <-timeout:
			return false
		}
	}
}

// pollEvery is the pause of a polling script.
const pollEvery = 5 * time.Second

// poll checks every file every five seconds, as a script does.
func (r *report) poll(h *home, order []int) error {
	sizes := make([]int64, len(h.sessions))
	look := func(changed func(int)) {
		for i, s := range h.sessions {
			info, err := os.Stat(s.path)
			if err != nil || info.Size() == sizes[i] {
				continue
			}
			sizes[i] = info.Size()
			changed(i)
		}
	}
	look(func(int) {})
	before := cpuOf(os.Getpid())
	look(func(int) {})
	cost := cpuOf(os.Getpid()) - before

	appended := make(map[int]time.Time)
	var took []time.Duration
	next := time.Now().Add(pollEvery)
	for _, i := range order[:min(len(order), 40)] {
		appended[i] = time.Now()
		if err := h.limit(h.sessions[i]); err != nil {
			return err
		}
		time.Sleep(pollEvery / 20)
		if time.Now().After(next) {
			look(func(i int) { took = append(took, time.Since(appended[i])) })
			next = time.Now().Add(pollEvery)
		}
	}
	time.Sleep(time.Until(next))
	look(func(i int) { took = append(took, time.Since(appended[i])) })
	r.add("peer 5 s poller: append → seen, p50 / p99", len(h.sessions), "%s, at %.2f %% CPU", quantiles(took), 100*cost.Seconds()/pollEvery.Seconds())
	return nil
}
