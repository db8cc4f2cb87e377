package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// Transcripts look like those of Claude Code, with 20 KB each, in up to 500 projects.
const (
	transcriptSize = 20 << 10
	mostProjects   = 500
)

// blockedSize is the disk space of a transcript, with its directory entry.
const blockedSize = transcriptSize + 6<<10

// roomIn returns the free bytes on the disk of a directory.
func roomIn(dir string) int64 {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0
	}
	return int64(disk.Bavail) * disk.Bsize
}

// words are the texts of people, models and tools.
var words = strings.Fields(`the parser handles a line that ends in the middle of a record because the only test that covers it has been
flaky since yesterday func (r *Reader) Next() error { if i := bytes.IndexByte(buf, x); i >= 0 { return nil } } ok github.com/example/project 0.412s
package.json README.md src/index.ts export async function load drwxr-xr-x 2 dev dev 4096 node_modules Everything else stays as it was`)

// session is one transcript.
type session struct{ id, path, cwd string }

// home is a home directory with sessions.
type home struct {
	dir      string
	sessions []session
	dice     *rand.Rand
}

// newHome makes a home with n sessions that are an hour old.
func newHome(dir string, n int) (*home, error) {
	h := &home{dir: dir, dice: rand.New(rand.NewPCG(1, uint64(n)))}
	for i := range n {
		project := fmt.Sprintf("project-%d", i%mostProjects)
		s := session{id: h.id(), cwd: filepath.Join(dir, "src", project)}
		s.path = filepath.Join(dir, ".claude/projects", "-home-dev-src-"+project, s.id+".jsonl")
		for _, dir := range []string{s.cwd, filepath.Dir(s.path)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(s.path, []byte(h.transcript(s, transcriptSize)), 0o600); err != nil {
			return nil, err
		}
		h.sessions = append(h.sessions, s)
	}
	config := filepath.Join(dir, ".config/resumed/resumed.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return nil, err
	}
	// Nothing must be resumed, whatever is installed here.
	return h, os.WriteFile(config, []byte("[[agent]]\nname = \"claude-code\"\ncommand = \""+dir+"/none\"\n"), 0o600)
}

func (h *home) id() string {
	d := h.dice
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", d.Uint32(), d.IntN(1<<16), d.IntN(1<<12), d.IntN(1<<12), d.Int64N(1<<48))
}

func (h *home) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[h.dice.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

// transcript returns a prompt, answers with tool results, and an answer that ends the turn.
func (h *home) transcript(s session, size int) string {
	var b strings.Builder
	at := time.Now().Add(-time.Hour)
	tail := func() string {
		at = at.Add(time.Second)
		return fmt.Sprintf(`"uuid":"%s","timestamp":"%s","userType":"external","entrypoint":"cli","cwd":"%s","sessionId":"%s","version":"2.1.325","gitBranch":"main"}`+"\n",
			h.id(), stamp(at), s.cwd, s.id)
	}
	answer := func(long int, end string) {
		fmt.Fprintf(&b, `{"parentUuid":"%s","isSidechain":false,"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"%s"}],"stop_reason":"%s","usage":{"input_tokens":1200,"output_tokens":41}},"requestId":"req_1","type":"assistant",%s`,
			h.id(), h.id(), h.prose(long), end, tail())
	}
	fmt.Fprintf(&b, `{"parentUuid":null,"isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":"%s"},%s`, h.id(), h.prose(100), tail())
	for b.Len() < size-1500 {
		answer(800, "tool_use")
		fmt.Fprintf(&b, `{"parentUuid":"%s","isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"%s","is_error":false}]},%s`,
			h.id(), h.id(), h.prose(1200), tail())
	}
	answer(300, "end_turn")
	return b.String()
}

// limit appends a rate limit error to a session's transcript.
func (h *home) limit(s session) error {
	line := fmt.Sprintf(`{"parentUuid":"%s","isSidechain":false,"type":"assistant","message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error: 529 Overloaded."}]},"error":"overloaded","isApiErrorMessage":true,"apiErrorStatus":529,"uuid":"%s","timestamp":"%s","cwd":"%s","sessionId":"%s","version":"2.1.325"}`+"\n",
		h.id(), h.id(), stamp(time.Now()), s.cwd, s.id)
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
