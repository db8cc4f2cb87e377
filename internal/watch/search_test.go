package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inForce is what agents may look for, all at once: words of the records of four
// of them.
var inForce = []string{
	`"isApiErrorMessage":true`, `"type":"assistant"`, `"type":"user"`, `[Request interrupted by user`,
	`"type":"event_msg"`, `"task_complete"`, `"turn_aborted"`, `"token_count"`,
	`"type":"error"`, `"type":"gemini"`,
}

func search(block []byte, needles []string) (lines []string) {
	f := newFinder(needles)
	f.lines(block, func(start, end int) { lines = append(lines, string(block[start:end])) })
	return lines
}

// simply is the search as one would write it for reading.
func simply(block []byte, needles []string) (lines []string) {
	every := len(needles) == 0 || slices.Contains(needles, "")
	for line := range bytes.Lines(block) {
		if every && string(line) == "\n" {
			continue // it says nothing
		}
		if every || slices.ContainsFunc(needles, func(n string) bool {
			return bytes.Contains(line, []byte(n)) && !strings.Contains(n, "\n")
		}) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

func TestSearchFindsEachLineWithANeedle(t *testing.T) {
	for name, c := range map[string]struct {
		block   string
		needles []string
		want    []string
	}{
		"no needles: all that say a word": {"a\n\nb\n", nil, []string{"a\n", "b\n"}},
		"an empty needle: every line":     {"a\nb\n", []string{"x", ""}, []string{"a\n", "b\n"}},
		"at the ends of the block":        {"xa\nb\nax\n", []string{"x"}, []string{"xa\n", "ax\n"}},
		"two in one line: once":           {"xx yy\nz\n", []string{"x", "y"}, []string{"xx yy\n"}},
		"never across lines":              {"ab\ncd\n", []string{"bc", "b\nc"}, nil},
		"a needle that begins as another": {"abc\nabd\nab\n", []string{"abd", "abcd"}, []string{"abd\n"}},
		"longer than the block":           {"ab\n", []string{"abcdefgh"}, nil},
		"an escaped decoy":                {`{\"type\":\"user\"}` + "\n" + `{"type":"user"}` + "\n", inForce, []string{`{"type":"user"}` + "\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, search([]byte(c.block), c.needles))
		})
	}
}

func TestSearchManyNeedles(t *testing.T) {
	var needles []string
	var block strings.Builder
	for i := range 200 { // more than the bits of a group
		needles = append(needles, fmt.Sprintf("<%03d>", i))
		fmt.Fprintf(&block, "noise %03d\nhit <%03d>\n", i, i)
	}
	require.Len(t, search([]byte(block.String()), needles), 200)
}

func FuzzSearchAgreesWithTheSimpleOne(f *testing.F) {
	f.Add([]byte("abc\nxay\n\nbb\n"), "a", "bb", "xa")
	f.Add([]byte("\"type\":\"user\"\n\"type\":\"usher\"\n"), `"type":"user"`, "usher", "ty")
	f.Add([]byte("aaaa\naa"), "aaa", "a\na", "aaaaa")
	f.Fuzz(func(t *testing.T, block []byte, a, b, c string) {
		needles := []string{a, b, c}
		require.Equal(t, simply(block, needles), search(block, needles))
	})
}

func TestSearchNeedsFewPassesForManyNeedles(t *testing.T) {
	f := newFinder(inForce)
	var bytes []byte
	for _, g := range f.groups {
		bytes = append(bytes, g.rare)
	}
	t.Logf("%d needles are found by %q", len(inForce), bytes)
	require.LessOrEqual(t, len(f.groups), 3)
}

// prose is what people, models and tools write.
const prose = `I'll look at how the parser handles a line that ends in the middle of a record, because the only
test that covers it has been flaky since yesterday. The reader keeps an offset and a copy of the tail; when it runs out
of data it simply returns what it has already and waits for any more. Let me verify whether the caller resets both of
them by key, or only the type of entry that you mentioned.

func (r *Reader) Next() (*Line, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.pos:], '\n'); i >= 0 {
			line := r.buf[r.pos : r.pos+i]
			r.pos += i + 1
			return &Line{Data: line, Offset: r.off}, nil
		}
		if err := r.fill(); err != nil {
			return nil, fmt.Errorf("fill the reader's buffer: %w", err)
		}
	}
}

=== RUN   TestReader_Next
--- PASS: TestReader_Next (0.00s)
ok  	github.com/example/project/internal/reader	0.412s
drwxr-xr-x 2 dev dev 4096 Nov 15 00:03 node_modules
package.json tsconfig.json README.md src/index.ts: export async function load(path: string): Promise<Config>
const data = await readFile(path, 'utf8'); return JSON.parse(data) as {"type": string, "ready": boolean};
SELECT id, created_at FROM sessions WHERE user_id = $1 ORDER BY created_at DESC LIMIT 20;
Everything else stays as it was, and I would not touch the public API of this directory for that. Do you want me to add
a benchmark too? It may be worth knowing how much memory and time every query really takes before we try to optimize.`

// quoted returns the words of a text as they stand in JSON.
func quoted(text string) (words []string) {
	for raw := range strings.SplitAfterSeq(text, " ") {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(raw) // into a buffer
		word := strings.TrimSpace(b.String())
		words = append(words, word[1:len(word)-1])
	}
	return words
}

// transcript generates lines as Claude Code writes them, 4.8 KB on average:
// half of them turns, a few with words of errors in quotes.
func transcript(size int) []byte {
	dice := rand.New(rand.NewPCG(1, 2))
	words := quoted(prose)
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[dice.IntN(len(words))])
		}
		return b.String()
	}
	id := func() string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", dice.Uint32(), dice.IntN(1<<16), dice.IntN(1<<12), dice.IntN(1<<12), dice.Int64N(1<<48))
	}
	tail := func() string {
		return fmt.Sprintf(`"uuid":"%s","timestamp":"2026-11-15T00:03:43.881Z","userType":"external","entrypoint":"cli","cwd":"/home/dev/src/project","sessionId":"%s","version":"2.1.325","gitBranch":"HEAD"}`, id(), id())
	}
	var out bytes.Buffer
	for out.Len() < size {
		long := int(dice.ExpFloat64() * 4350)
		switch n := dice.IntN(1000); {
		case n < 300:
			fmt.Fprintf(&out, `{"parentUuid":"%s","isSidechain":false,"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":1200,"output_tokens":41}},"requestId":"req_1","type":"assistant",%s`, id(), id(), text(long), tail())
		case n < 500:
			fmt.Fprintf(&out, `{"parentUuid":"%s","isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"%s","is_error":false}]},%s`, id(), id(), text(long), tail())
		case n < 502:
			fmt.Fprintf(&out, `{"parentUuid":"%s","isSidechain":false,"type":"assistant","message":{"content":[{"type":"text","text":"You've hit your limit"}]},"error":"rate_limit","isApiErrorMessage":true,%s`, id(), tail())
		case n < 510: // decoys
			fmt.Fprintf(&out, `{"parentUuid":"%s","attachment":{"type":"file","content":"{\"isApiErrorMessage\":true,\"type\":\"assistant\"} %s"},"type":"attachment",%s`, id(), text(long), tail())
		case n < 900:
			fmt.Fprintf(&out, `{"parentUuid":"%s","isSidechain":false,"attachment":{"type":"skill_listing","content":"%s"},"type":"attachment",%s`, id(), text(long), tail())
		default:
			fmt.Fprintf(&out, `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-15T00:03:43.661Z","sessionId":"%s","content":"%s"}`, id(), text(long))
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// weigh is a look at a line such as an agent takes: where the kind of a record
// stands at its beginning or at its end, not in between.
func weigh(line []byte) Weight {
	head, tail := line[:min(len(line), 256)], line[max(0, len(line)-512):]
	switch {
	case bytes.Contains(tail, []byte(`"isApiErrorMessage":true`)):
		return Matters
	case bytes.Contains(tail, []byte(`"type":"assistant"`)), bytes.Contains(head, []byte(`"type":"user"`)),
		bytes.Contains(head, []byte(`"type":"assistant"`)):
		return Moves
	}
	return Nothing
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScan reads a transcript from the page cache, as after a day without
// the daemon. The figure is megabytes for each second of processor time.
func BenchmarkScan(b *testing.B) {
	path := filepath.Join(b.TempDir(), "transcript.jsonl")
	text := transcript(64 << 20)
	require.NoError(b, os.WriteFile(path, text, 0o600))
	b.Logf("%d lines of %d bytes on average", bytes.Count(text, []byte("\n")), len(text)/bytes.Count(text, []byte("\n")))

	measure := func(name string, scan func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			begin := cpuTime(b)
			for b.Loop() {
				scan(b)
			}
			spent := (cpuTime(b) - begin).Seconds()
			b.ReportMetric(float64(len(text))*float64(b.N)/1e6/spent, "MB/CPU-s")
		})
	}
	watching := func(b *testing.B, o Options) {
		kept := 0
		o.Root, o.Needles, o.Sift = filepath.Dir(path), inForce, weigh
		o.Deliver = func(_ context.Context, batch Batch) (bool, error) { kept += len(batch.Lines); return false, nil }
		w := New(o)
		done := make(chan error, 1)
		w.tend(b.Context(), path, done)
		for !w.idle() {
			w.work(b.Context())
		}
		require.NoError(b, <-done)
		require.NotZero(b, kept)
	}
	start := func(string) (Cursor, bool) {
		in, info, err := open(path)
		require.NoError(b, err)
		require.NoError(b, in.Close())
		st := stampOf(info)
		return Cursor{Dev: st.id.dev, Inode: st.id.inode}, true
	}
	measure("forward", func(b *testing.B) { watching(b, Options{Known: start}) })
	measure("first-sight", func(b *testing.B) { watching(b, Options{}) })
	measure("encoding-json", func(b *testing.B) {
		data, err := os.ReadFile(path)
		require.NoError(b, err)
		for line := range bytes.Lines(data) {
			var record struct {
				Type              string `json:"type"`
				IsAPIErrorMessage bool   `json:"isApiErrorMessage"`
			}
			require.NoError(b, json.Unmarshal(line, &record))
		}
	})
}
