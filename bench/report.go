package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one value.
type row struct{ name, figure string }

// point is a value with so many sessions.
type point struct {
	name string
	n    int
}

// report holds the results.
type report struct {
	binary string
	fixed  []row    // values that do not depend on the number of sessions
	names  []string // of values that do
	cells  map[point]string
	curves map[point]float64
	sizes  []int

	memoryOnly bool
}

// add records a value that depends on the number of sessions.
func (r *report) add(name string, n int, format string, args ...any) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
	if !slices.Contains(r.sizes, n) {
		r.sizes = append(r.sizes, n)
	}
	r.cells[point{name, n}] = fmt.Sprintf(format, args...)
}

// grows records a point of a curve.
func (r *report) grows(name string, n int, value float64) { r.curves[point{name, n}] = value }

// exponent returns the power of the number of sessions with which a value grows, from the second
// largest number to the largest: the constant part is small there.
func (r *report) exponent(name string) (float64, bool) {
	if len(r.sizes) < 2 {
		return 0, false
	}
	few, many := r.sizes[len(r.sizes)-2], r.sizes[len(r.sizes)-1]
	from, to := r.curves[point{name, few}], r.curves[point{name, many}]
	return math.Log(to/from) / math.Log(float64(many)/float64(few)), from > 0 && to > 0
}

// program measures the cost of the program itself.
func (r *report) program() {
	if info, err := os.Stat(r.binary); err == nil {
		r.fixed = append(r.fixed, row{"binary, static and stripped", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6)})
	}
	for _, args := range [][]string{{"--help"}, {"status"}} {
		least, cpu := time.Hour, time.Hour
		for range 10 {
			c := exec.Command(r.binary, args...)
			c.Env = []string{"HOME=" + os.TempDir() + "/resumed-bench-nobody"}
			begin := time.Now()
			_ = c.Run() // the exit code of status is 3 if no daemon runs
			least, cpu = min(least, time.Since(begin)), min(cpu, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		}
		r.fixed = append(r.fixed, row{"`resumed " + strings.Join(args, " ") + "`", fmt.Sprintf("%.0f ms (%.0f ms CPU)", ms(least), ms(cpu))})
	}
}

// text returns the report as Markdown.
func (r *report) text() string {
	var b strings.Builder
	slices.Sort(r.sizes)
	fmt.Fprintf(&b, "# Performance\n\nWritten by `make bench` on %s: %s, %d processors, Linux %s, %s, load %s. The data are transcripts of 20 KB as Claude Code\nwrites them, in 500 projects, read from the page cache. Processor time stands beside the clock where another load of the machine would show in it.\n\n",
		time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), firstOf("/proc/sys/kernel/osrelease"), runtime.Version(), load())
	b.WriteString("RssAnon is the memory that the daemon itself has allocated. RSS counts also the pages of the program's file that were run or read so far: the kernel keeps them as a cache,\nshares them between all that run the program and takes them back when memory is short. The daemon does nothing to look smaller in either.\n\n")
	b.WriteString("| with so many sessions |")
	for _, n := range r.sizes {
		fmt.Fprintf(&b, " %d |", n)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(r.sizes)) + "\n")
	for _, name := range r.names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range r.sizes {
			fmt.Fprintf(&b, " %s |", cmp.Or(r.cells[point{name, n}], "–"))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| grows with sessions^x | x |\n|---|---|\n")
	for _, name := range []string{"start, CPU", "RssAnon", "one limit, CPU"} {
		if x, ok := r.exponent(name); ok {
			fmt.Fprintf(&b, "| %s | %.2f |\n", name, x)
		}
	}
	b.WriteString("\n| whatever their number | |\n|---|---|\n")
	for _, row := range r.fixed {
		fmt.Fprintf(&b, "| %s | %s |\n", row.name, row.figure)
	}
	return b.String()
}

func load() string {
	first, _, _ := strings.Cut(firstOf("/proc/loadavg"), " ")
	return first
}

func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func firstOf(file string) string {
	data, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

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
