package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// benchLine matches a line of `go test -bench` with the speed of a benchmark.
var benchLine = regexp.MustCompile(`(?m)^Benchmark\w+/(\S+?)-?\d*\s+\d+\s+([\d.]+) MB/cpu-s`)

// reading measures how fast transcripts are read, compared with the kernel alone and with a parser.
func (r *report) reading() error {
	c := exec.Command("go", "test", "-run", "^$", "-bench", "Reading", "-benchtime", "0.5s", "-count", "3", "./internal/feed")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	best := make(map[string]float64)
	var names []string
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		name := strings.ReplaceAll(m[1], "_", " ")
		value, _ := strconv.ParseFloat(m[2], 64)
		if best[name] == 0 {
			names = append(names, name)
		}
		best[name] = max(value, best[name])
	}
	for _, name := range names {
		agent, _, _ := strings.Cut(name, ",")
		if read := best[agent+", read"]; read > 0 && name != agent+", read" {
			r.fixed = append(r.fixed, row{"reading: " + name, fmt.Sprintf("%.0f MB per CPU second (%.2f × read())", best[name], best[name]/read)})
		} else {
			r.fixed = append(r.fixed, row{"reading: " + name + "()", fmt.Sprintf("%.0f MB per CPU second", best[name])})
		}
	}
	return nil
}
