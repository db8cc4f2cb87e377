// Package demo shows what happens after a limit: it runs the real daemon with pretend agents, in a
// temporary directory.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"resumed/internal/agents"
	"resumed/internal/app"
	"resumed/internal/buildinfo"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
	"resumed/internal/wake"
)

// configText is a real configuration with short waits and pretend agents: painter hits a limit once,
// unlucky never recovers, and a session of Claude Code was stopped before.
const configText = `
[resume]
settle = "3s"

[backoff]
base_delay = "1s"
max_delay = "4s"
max_retries = 3

[[agent]]
name = "claude-code"
roots = ['%[1]s/early']
command = %[3]q

[notify]
events = ["gave_up", "recovered"]
group_wait = "0s"

[[notify.webhook]]
name = "demo"
url = "%[2]s"
`

// agentText describes a pretend agent, and the lines that say it is limited.
const agentText = `
[[agent]]
name = "%[2]s"
kind = "custom"
files = ['%[1]s/%[2]s/*.log']
session = '([^/]+)\.log$'
cwd = '%[1]s/%[2]s'
limit = ['%[3]s']
progress = ['^step ']
resume = ['%[4]s', 'demo-agent', '%[2]s', '{session}', '{prompt}']
`

// sessions are the session ids, by agent.
var sessions = map[string]string{"painter": "canvas-1", "unlucky": "lottery-7"}

// timeLimit limits the demo.
const timeLimit = 28 * time.Second

// AgentCommand is the command of this program that runs a pretend agent.
const AgentCommand = "demo-agent"

// Run runs the demo and prints each event as it happens.
func Run(ctx context.Context, out io.Writer, page termui.Renderer, version string) error {
	dir, err := os.MkdirTemp("", "resumed-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	ctx, stop := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("the demo did not end within %s", timeLimit))
	defer stop()
	s := &show{out: out, page: page, dir: dir, began: time.Now(), ends: make(chan struct{}, 8), asks: make(chan resume.Key, 1), shown: make(map[string]int)}
	webhook, err := s.webhook(ctx)
	if err != nil {
		return err
	}
	options := app.Options{
		ConfigPath: filepath.Join(dir, "resumed.toml"), StateDir: filepath.Join(dir, "state"), RuntimeDir: filepath.Join(dir, "run"),
		LeaseDirs: []string{filepath.Join(dir, "leases")}, Version: version, Log: slog.New(slog.DiscardHandler), Seen: s.step,
	}
	if options.Config, err = writeConfig(options.ConfigPath, dir, program, webhook); err != nil {
		return err
	}
	status, err := s.play(ctx, program, options)
	if err != nil {
		return err
	}
	return s.printResult(status)
}

func writeConfig(file, dir, program, webhook string) (config.Config, error) {
	text := fmt.Appendf(nil, configText, dir, webhook, sanitize.ShellWord(program)+" "+AgentCommand)
	text = fmt.Appendf(text, agentText, dir, "painter", `rate limited, retry in (?P<after>\S+)`, program)
	text = fmt.Appendf(text, agentText, dir, "unlucky", "rate limited$", program)
	for _, b := range agents.Known() { // the user's own agents are not part of the demo
		if b.Name == early.Agent {
			continue
		}
		text = fmt.Appendf(text, "\n[[agent]]\nname = %q\nenabled = false\n", b.Name)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return config.Config{}, fmt.Errorf("write the demo's configuration: %w", err)
	}
	for name := range sessions {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return config.Config{}, fmt.Errorf("make a directory for the demo: %w", err)
		}
	}
	if err := writeEarly(filepath.Join(dir, "early")); err != nil {
		return config.Config{}, fmt.Errorf("write the demo's transcript: %w", err)
	}
	_ = os.Unsetenv("RESUMED_RESUME_UNSEEN") // the demo shows the default, also after a reload
	return config.Load(file, agents.Known())
}

// show prints the events of the demo.
type show struct {
	out   io.Writer
	page  termui.Renderer
	dir   string
	began time.Time
	ends  chan struct{}   // receives once for each session that finished or gave up
	asks  chan resume.Key // receives the session that needs the user's word

	printing sync.Mutex     // one line at a time
	reading  sync.Mutex     // guards shown
	shown    map[string]int // lines of each agent's log that were printed
}

// play runs the daemon and the agents until all sessions have ended.
func (s *show) play(ctx context.Context, program string, o app.Options) (control.Status, error) {
	daemon, stopDaemon := context.WithCancel(ctx)
	defer stopDaemon()
	ready, ended := make(chan struct{}), make(chan error, 1)
	o.Ready = func() { close(ready) }
	go func() { ended <- app.Run(daemon, o) }()
	select {
	case <-ready:
	case err := <-ended:
		return control.Status{}, err
	}
	s.say("resumed", termui.Blue, "watches three pretend agents")
	var followers sync.WaitGroup
	defer followers.Wait()
	for name, session := range sessions {
		followers.Go(func() { s.follow(daemon, name) })
		agent := exec.CommandContext(ctx, program, AgentCommand, name, session, "paint a house")
		agent.Dir = filepath.Join(s.dir, name)
		go func() { _ = agent.Run() }() // its log shows how it ended
	}
	client := control.NewClient(o.RuntimeDir)
	for left := len(sessions) + 1; left > 0; {
		select {
		case <-s.ends:
			left--
		case key := <-s.asks:
			time.Sleep(time.Second) // for people who read along
			s.say("you", termui.Bold, "resumed retry --unseen")
			if _, err := client.Do(ctx, key.String(), control.Retry); err != nil {
				return control.Status{}, err
			}
		case <-ctx.Done():
			stopDaemon()
			return control.Status{}, context.Cause(ctx)
		}
	}
	status, err := client.Status(ctx, false)
	stopDaemon()
	if err != nil {
		return status, err
	}
	return status, <-ended
}

func (s *show) say(who string, colour termui.Colour, format string, args ...any) {
	s.printing.Lock()
	defer s.printing.Unlock()
	p := &termui.Printer{Renderer: s.page}
	began, text := fmt.Sprintf("%5.1fs", time.Since(s.began).Seconds()), sanitize.Line(fmt.Sprintf(format, args...))
	p.Table([][]termui.Cell{{{Text: began}, {Text: fmt.Sprintf("%-7s", who), Colour: colour}, {Text: text}}})
	_, _ = io.WriteString(s.out, p.String()) // if the output is closed, the demo continues
}

// step prints a decision of the engine.
func (s *show) step(change resume.Change) {
	after, who := change.After, change.After.Key.Agent
	s.catchUp(who) // the lines that led to the decision come first
	switch {
	case change.Entered(resume.Waiting) && after.Key != early:
		why := "backoff"
		if after.Limit.Reset.Stated() {
			why = "as it was asked to"
		}
		s.say("resumed", termui.Yellow, "%s is limited: waits %.1fs, %s", who, max(0, after.NextAt.Sub(change.At).Seconds()), why)
	case change.ClaimedRun() != nil:
		s.say("resumed", termui.Blue, "continues the session %s of %s (resume %d of 3)", after.Key.ID, who, len(after.Attempts))
	case change.Entered(resume.Watching) && change.Before.Interrupted():
		s.say("resumed", termui.Green, "%s %s", who, humanize.ReasonAt(sentence.Of(after), change.At))
		if after.Key == early {
			s.ends <- struct{}{}
		}
	case change.Entered(resume.Parked):
		s.say("resumed", termui.Red, "%s needs you: %s", who, humanize.ReasonAt(sentence.Of(after), change.At))
		s.asks <- after.Key
	case change.Entered(resume.GaveUp):
		s.say("resumed", termui.Red, "%s: %s", who, humanize.ReasonAt(sentence.Of(after), change.At))
	}
}

// webhook starts a server that prints the notices it receives, and returns its address.
func (s *show) webhook(ctx context.Context) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the demo's notices: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var notice notify.Notice
		if json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&notice) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.say("webhook", termui.Bold, "%s", notice.Title)
		if notice.Event == notify.GaveUp {
			s.ends <- struct{}{}
		}
	})}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/notices", nil
}

// follow prints the agent's new lines until ctx is done.
func (s *show) follow(ctx context.Context, name string) {
	for s.catchUp(name); wake.Sleep(ctx, 50*time.Millisecond); {
		s.catchUp(name)
	}
}

// catchUp prints the agent's lines since the last call.
func (s *show) catchUp(name string) {
	s.reading.Lock()
	defer s.reading.Unlock()
	data, _ := os.ReadFile(filepath.Join(s.dir, name, sessions[name]+".log"))
	lines := strings.SplitAfter(string(data), "\n")
	for ; s.shown[name] < len(lines)-1; s.shown[name]++ {
		line := lines[s.shown[name]]
		s.say(name, termui.None, "%s", line)
		if strings.HasPrefix(line, "step 6") {
			s.ends <- struct{}{}
		}
	}
}

// printResult prints how the sessions ended, like `resumed status`.
func (s *show) printResult(status control.Status) error {
	p := &termui.Printer{Renderer: s.page}
	p.Now = time.Now()
	p.Lines("", p.Paint.In(termui.Bold, "resumed status"))
	p.Text(p.Sessions(status.Sessions) + "\n")
	p.Wrapped("These agents were pretend, the daemon was the real one. Next, for yours, which need no setup:")
	p.Lines("  " + buildinfo.Command() + " install")
	_, err := io.WriteString(s.out, p.String())
	return err
}

// ErrLimited ends a run of an agent that hit a limit.
var ErrLimited = errors.New("rate limited")

// steps are the lines that the agents write.
var steps = map[string][]string{
	"painter": {"mixes colours", "paints the walls", "paints the roof", "paints the door", "paints a cat", "signs the picture"},
	"unlucky": {"buys a ticket", "waits for the draw", "", "", "", ""},
}

// early is the session that was stopped before the daemon ran.
var early = resume.Key{Agent: "claude-code", ID: "5eed0000-0000-4000-8000-000000000001"}

// writeEarly writes the transcript of the session that was stopped before, in its home.
func writeEarly(home string) error {
	if err := os.MkdirAll(filepath.Join(home, filepath.Dir(earlyTranscript)), 0o700); err != nil {
		return err
	}
	return errors.Join(
		addEarly(home, `"type":"user","message":{"role":"user","content":"plant a tree"}`),
		addEarly(home, `"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","apiErrorStatus":429,`+
			`"message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: Request rejected (429)"}]}`))
}

var earlyTranscript = filepath.Join("projects", "-garden", early.ID+".jsonl")

// addEarly adds a record to the transcript of the session that was stopped before.
func addEarly(home, fields string) error {
	log, err := os.OpenFile(filepath.Join(home, earlyTranscript), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(log, `{"sessionId":%q,"cwd":%q,"timestamp":%q,%s}`+"\n", early.ID, home, time.Now().UTC().Format(time.RFC3339Nano), fields)
	return errors.Join(err, log.Close())
}

// Agent runs as a pretend agent. It writes its transcript into its working directory, and continues
// where the transcript ends.
func Agent(name, session string) error {
	if strings.HasPrefix(name, "-") { // the flags of Claude Code
		return addEarly(".", `"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"The tree is planted."}]}`)
	}
	log, err := os.OpenFile(session+".log", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	past, err := io.ReadAll(log)
	if err != nil {
		return err
	}
	done := strings.Count(string(past), "step ")
	limits := strings.Count(string(past), "rate limited")
	write := func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }
	for step := done + 1; step <= 6; step++ {
		time.Sleep(400 * time.Millisecond)
		switch {
		case name == "unlucky" && step == 3:
			write("error 429: rate limited")
			return ErrLimited
		case name == "painter" && step == 4 && limits == 0:
			write("error 429: rate limited, retry in 3s")
			return ErrLimited
		}
		write("step %d: %s", step, steps[name][step-1])
	}
	return nil
}
