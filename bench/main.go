// Program bench measures the built daemon from outside, prints one table and writes it to a file
// (`make bench`). It is a separate module, because no user of the daemon needs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	sizes := flag.String("sessions", "10,100,1000,10000,100000", "numbers of sessions to measure with; 100000 take two minutes and 2.6 GB of disk")
	out := flag.String("out", "", "file to write the table to, seen from there")
	root := flag.String("root", "..", "the root of the repository")
	quick := flag.Bool("quick", false, "a tenth of the samples")
	memoryOnly := flag.Bool("memory", false, "only what is needed to measure memory")
	flag.Parse()
	err := os.Chdir(*root)
	if err == nil {
		err = run(*sizes, *out, *quick, *memoryOnly)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the whole program. It runs in the root of the repository.
func run(sizes, out string, quick, memoryOnly bool) error {
	dir, err := os.MkdirTemp("", "resumed-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		_ = os.RemoveAll(dir)
		os.Exit(1)
	}()

	r := &report{cells: make(map[point]string), curves: make(map[point]float64), memoryOnly: memoryOnly}
	if r.binary, err = build(dir); err != nil {
		return err
	}
	samples := 300
	if quick {
		samples = 30
	}
	if !memoryOnly {
		r.program()
		if err := r.reading(); err != nil {
			return fmt.Errorf("reading: %w", err)
		}
	}
	if err := r.fleet(dir); err != nil {
		return fmt.Errorf("a fleet: %w", err)
	}
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("-sessions: %w", err)
		}
		if err := r.live(dir, n, samples); err != nil {
			return fmt.Errorf("%d sessions: %w", n, err)
		}
	}
	text := r.text()
	fmt.Print(text)
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// build builds the program like a release.
func build(dir string) (string, error) {
	binary := filepath.Join(dir, "resumed")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/resumed")
	c.Env, c.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	return binary, c.Run()
}
