// Package e2e tries the built daemon with the real agents: each of them is
// installed, pointed at a make-believe provider on the loopback, interrupted in
// every way, and must finish its task in the same session.
//
// It runs only where E2E names agents, or says all: see `make e2e`.
package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// daemon is the built binary.
var daemon string

func TestMain(m *testing.M) {
	if os.Getenv("E2E") == "" {
		fmt.Println("e2e: no agent is tried: E2E is not set (see make e2e)")
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "resumed-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		daemon = filepath.Join(dir, "resumed")
		if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", daemon, "../cmd/resumed").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the daemon: %v\n%s", err, out)
			return 1
		}
		code := m.Run()
		table.print()
		return code
	}())
}

// wanted reports whether E2E asks for the agent.
func wanted(agent string) bool {
	names := strings.Split(os.Getenv("E2E"), ",")
	return slices.Contains(names, "all") || slices.Contains(names, agent)
}

// table is what was tried and how it went.
var table results

type results struct {
	mu    sync.Mutex // guards everything that follows
	rows  []result
	hosts map[string]map[string]bool // what agents asked a proxy for, by agent
}

// result is one row of the table.
type result struct {
	place    int // in the table
	kit      string
	row      string
	provider string // what the provider did
	said     string // what the daemon saw in the transcript
	did      string // what the daemon did about it
	outcome  string
	took     time.Duration
}

func (r *results) add(row result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
}

// asked notes a host that an agent wanted to reach, and did not.
func (r *results) asked(kit, host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts == nil {
		r.hosts = make(map[string]map[string]bool)
	}
	if r.hosts[kit] == nil {
		r.hosts[kit] = make(map[string]bool)
	}
	r.hosts[kit][host] = true
}

func (r *results) print() {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	slices.SortStableFunc(r.rows, func(a, b result) int { return a.place - b.place })
	fmt.Fprintln(w, "AGENT\tCASE\tPROVIDER\tDAEMON SAW\tDAEMON DID\tRESULT\tTOOK")
	for _, row := range r.rows {
		fmt.Fprintln(w, strings.Join([]string{
			row.kit, row.row, row.provider, row.said, row.did, row.outcome, row.took.Round(100 * time.Millisecond).String(),
		}, "\t"))
	}
	_ = w.Flush()
	for _, kit := range slices.Sorted(maps.Keys(r.hosts)) {
		fmt.Printf("%s also asked for, and was refused: %s\n", kit, strings.Join(slices.Sorted(maps.Keys(r.hosts[kit])), ", "))
	}
}
