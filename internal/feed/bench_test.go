package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/watch"
)

// corpusSize is what one round of the benchmark reads.
const corpusSize = 128 << 20

// corpusPath is one that every agent takes for a transcript of its own.
const corpusPath = "project/chats/rollout-2026-11-15T00-00-00-01a1dc7f-97bf-7b93-a2a9-fe5a825c7799.jsonl"

// corpusName is corpusPath's with a number in it.
const corpusName = "rollout-2026-11-15T00-00-00-01a1dc7f-97bf-7b93-a2a9-fe5a825c%04d.jsonl"

// captures are transcripts as agents wrote them.
var captures = map[string]string{
	"claude-code": "../agent/claude/testdata/transcripts/*.jsonl",
	"codex":       "../agent/codex/testdata/rollouts/*.jsonl",
	"gemini":      "../agent/gemini/testdata/chats/*.jsonl",
	"qwen-code":   "../agent/qwen/testdata/chats/*.jsonl",
}

// BenchmarkReading reads transcripts the whole way, as the daemon does: from the
// bytes on disk to what they mean; beside it encoding/json on every line. What a
// search for words costs alone is measured in package watch.
func BenchmarkReading(b *testing.B) {
	b.Setenv("HOME", b.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		dir := corpus(b, knows(b, name), captures[name], lengthen)
		short := corpus(b, knows(b, name), captures[name], func(line []byte) []byte { return line })
		b.Run(name, func(b *testing.B) { benchmarkReading(b, dir, name) })
		b.Run(name+", short lines", func(b *testing.B) { benchmarkReading(b, short, name) })
		b.Run(name+", read", func(b *testing.B) { benchmarkRead(b, dir) })
		b.Run(name+", encoding-json", func(b *testing.B) { benchmarkJSON(b, dir) })
	}
}

// corpus makes one big file of the lines that an agent wrote. The captures are
// of short sessions that failed, with their long texts cut out: refusals,
// prompts and the like are thinned out to one line in 200 and texts are made
// longer, as in the transcript of an agent that works for hours.
func corpus(b *testing.B, a agent.FileAgent, captures string, dress func(line []byte) []byte) string {
	files, err := filepath.Glob(captures)
	require.NoError(b, err)
	var turns, rare [][]byte
	var first []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(b, err)
		if first == nil {
			first = data // an agent looks there for what a session is
		}
		for line := range bytes.Lines(data) {
			if a.Sources()[0].Sift(bytes.TrimSpace(line)) == agent.Matters {
				rare = append(rare, line)
			} else {
				turns = append(turns, dress(line))
			}
		}
	}
	require.NotEmpty(b, rare)
	dir := b.TempDir()
	path := filepath.Join(dir, corpusPath)
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o700))
	root := filepath.Join(filepath.Dir(filepath.Dir(path)), ".project_root") // by which one of them knows its directory
	require.NoError(b, os.WriteFile(root, []byte(dir), 0o600))
	out, err := os.Create(path)
	require.NoError(b, err)
	size, err := out.Write(first)
	require.NoError(b, err)
	lines := bytes.Count(first, []byte("\n"))
	for n := 0; size < corpusSize; n++ {
		line := turns[n%len(turns)]
		if n%200 == 0 {
			line = rare[n/200%len(rare)]
		}
		_, err := out.Write(line)
		require.NoError(b, err)
		size += len(line)
		lines++
	}
	require.NoError(b, out.Close())
	b.Logf("%s: %d lines of %d bytes on average", a.Name(), lines, size/lines)
	return dir
}

// lengthen gives the first text of a line so much more of it that lines of
// Claude Code and Codex are 5 KB long on average, as they are in transcripts of
// real work.
func lengthen(line []byte) []byte {
	for _, start := range []string{`"text":"`, `"content":"`, `"output":"`} {
		if i := bytes.Index(line, []byte(start)); i >= 0 {
			i += len(start)
			more := bytes.Repeat([]byte(`the \"rate limit\" of the server is read in main.go:120, and then it returns. `), 150)
			return slices.Concat(line[:i], more, line[i:])
		}
	}
	return line
}

func benchmarkReading(b *testing.B, dir, name string) {
	before := cpuTime(b)
	size := int64(0)
	for b.Loop() {
		seen := 0
		watchOnce(b, knows(b, name), dir, &seen, func(path string) (watch.Cursor, bool) { return fromTheStart(b, path) })
		require.Greater(b, seen, 20, "it was read")
		size += sizeOf(b, dir)
	}
	report(b, size, cpuTime(b)-before)
}

// watchOnce reads what lies in a directory and counts what it says.
func watchOnce(b *testing.B, a agent.FileAgent, dir string, seen *int, known func(string) (watch.Cursor, bool)) {
	src := a.Sources()[0]
	r := &reader{
		agent: a, source: src, log: slog.New(slog.DiscardHandler), back: make(map[string]sight),
		feeds: &Feeds{opts: Options{
			Observe:   func(_ context.Context, s []resume.Observation) error { *seen += len(s); return nil },
			Keep:      func(string, json.RawMessage) {},
			Trust:     func() ownership.Trust { return ownership.Trust{} },
			Elsewhere: func(resume.Key) bool { return false },
		}},
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	w := watch.New(watch.Options{
		Since: func() time.Time { return time.Time{} }, Log: slog.New(slog.DiscardHandler),
		Root: dir, Depth: 2, Match: func(string) bool { return true }, Known: known, Deliver: r.deliver, Ready: func(context.Context) { cancel() },
		Sift: func(line []byte) watch.Weight { return watch.Weight(src.Sift(line)) },
	})
	if err := w.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
}

// benchmarkRead is what the kernel takes to hand over the bytes: nobody who looks
// at them all is faster.
func benchmarkRead(b *testing.B, dir string) {
	room := make([]byte, 1<<20)
	before := cpuTime(b)
	size := int64(0)
	for b.Loop() {
		f, err := os.Open(filepath.Join(dir, corpusPath))
		require.NoError(b, err)
		for {
			n, err := f.Read(room)
			size += int64(n)
			if err != nil {
				break
			}
		}
		require.NoError(b, f.Close())
	}
	report(b, size, cpuTime(b)-before)
}

func benchmarkJSON(b *testing.B, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, corpusPath))
	require.NoError(b, err)
	data = data[:bytes.LastIndexByte(data[:len(data)/8], '\n')+1] // it is slow
	before := cpuTime(b)
	size := int64(0)
	for b.Loop() {
		for line := range bytes.Lines(data) {
			var record struct {
				Type      string `json:"type"`
				SessionID string `json:"sessionId"`
			}
			_ = json.Unmarshal(line, &record)
		}
		size += int64(len(data))
	}
	report(b, size, cpuTime(b)-before)
}

// fromTheStart is the cursor of a file of which nothing was read yet.
func fromTheStart(b *testing.B, path string) (watch.Cursor, bool) {
	info, err := os.Stat(path)
	require.NoError(b, err)
	stat := info.Sys().(*syscall.Stat_t)
	return watch.Cursor{Dev: uint64(stat.Dev), Inode: stat.Ino}, true
}

func sizeOf(b *testing.B, dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, corpusPath))
	require.NoError(b, err)
	return info.Size()
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func report(b *testing.B, size int64, cpu time.Duration) {
	b.ReportMetric(float64(size)/1e6/cpu.Seconds(), "MB/cpu-s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFirstSight is what a transcript of 20 KB costs that is met for the first
// time, from its name to what its end means.
func BenchmarkFirstSight(b *testing.B) {
	b.Setenv("HOME", b.TempDir())
	const files = 2000
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		dir := b.TempDir()
		text := shortTranscript(b, knows(b, name), captures[name])
		for n := range files {
			require.NoError(b, os.WriteFile(place(b, dir, n), text, 0o600))
		}
		b.Run(name, func(b *testing.B) {
			before, sights := cpuTime(b), 0
			b.ReportAllocs()
			for b.Loop() {
				seen := 0
				watchOnce(b, knows(b, name), dir, &seen, func(string) (watch.Cursor, bool) { return watch.Cursor{}, false })
				require.GreaterOrEqual(b, seen, files)
				sights += files
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(sights), "cpu-µs/file")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// shortTranscript is 20 KB of what an agent wrote: how one session began, and what
// is neither a prompt nor a refusal of others.
func shortTranscript(b testing.TB, a agent.FileAgent, captures string) []byte {
	files, err := filepath.Glob(captures)
	require.NoError(b, err)
	var text, last []byte
	prompted := false
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(b, err)
		for line := range bytes.Lines(data) {
			weight := a.Sources()[0].Sift(bytes.TrimSpace(line))
			if weight == agent.Moves {
				last = line
			}
			if len(text) < 19<<10 && (weight != agent.Matters || !prompted) {
				text = append(text, line...)
				prompted = prompted || weight == agent.Matters
			}
		}
	}
	return append(text, last...)
}

// place returns the path of a transcript that every agent takes for its own.
func place(t testing.TB, dir string, n int) string {
	project := filepath.Join(dir, fmt.Sprintf("project%d", n%100))
	path := filepath.Join(project, "chats", fmt.Sprintf(corpusName, n))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".project_root"), []byte(dir), 0o600)) // by which one of them knows its directory
	return path
}

// answers returns the lines of a transcript that are neither prompts nor refusals.
func answers(text []byte, a agent.FileAgent) (lines []byte) {
	for line := range bytes.Lines(text) {
		if a.Sources()[0].Sift(bytes.TrimSpace(line)) != agent.Matters {
			lines = append(lines, line...)
		}
	}
	return lines
}
