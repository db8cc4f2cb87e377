//go:build !windows

package main

import (
	"context"
	"encoding/json"
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

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/app"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// demoConfig is a real configuration, with short waits and two make-believe
// agents: one that is limited once, and one that never recovers.
const demoConfig = `
[resume]
settle = "3s"

[backoff]
base_delay = "1s"
max_delay = "4s"
max_retries = 3

[[agent]]
name = "painter"
kind = "custom"
files = ['%[1]s/painter/*.log']
session = '([^/]+)\.log$'
cwd = '%[1]s/painter'
limit = ['rate limited, retry in (?P<after>\S+)']
progress = ['^step ']
resume = ['%[2]s', 'demo-agent', 'painter', '{session}', '{prompt}']

[[agent]]
name = "unlucky"
kind = "custom"
files = ['%[1]s/unlucky/*.log']
session = '([^/]+)\.log$'
cwd = '%[1]s/unlucky'
limit = ['rate limited$']
progress = ['^step ']
resume = ['%[2]s', 'demo-agent', 'unlucky', '{session}', '{prompt}']

[notify]
events = ["gave_up", "recovered"]
group_wait = "0s"

[[notify.webhook]]
name = "demo"
url = "%[3]s"
`

// demoPatience bounds the demo.
const demoPatience = 28 * time.Second

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See in ten seconds what happens after a limit",
		Long: "Runs the real daemon in a temporary directory with two pretend agents: one hits a limit\n" +
			"and continues, the other never recovers. It installs nothing and leaves nothing behind.",
		Example: "  resumed demo",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context()) },
	}
}

func (c *cli) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "resumed-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	show := &stageShow{page: newPage(c.out), began: time.Now(), ends: make(chan struct{}, 8)}
	ctx, stop := context.WithTimeoutCause(ctx, demoPatience, fmt.Errorf("the demo did not end within %s", demoPatience))
	defer stop()

	phone, err := show.phone(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "resumed.toml")
	text := fmt.Appendf(nil, demoConfig, dir, program, phone)
	for _, b := range agents.Known() { // a demo does not touch the sessions of those who look at it
		text = fmt.Appendf(text, "\n[[agent]]\nname = %q\nenabled = false\n", b.Name)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the demo's configuration: %w", err)
	}
	cfg, err := config.Load(file, agents.Known())
	if err != nil {
		return err
	}
	for _, name := range []string{"painter", "unlucky"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return fmt.Errorf("make a directory for the demo: %w", err)
		}
	}
	return show.play(ctx, stop, dir, program, file, cfg)
}

// play runs the daemon and both agents until both stories have ended.
func (s *stageShow) play(ctx context.Context, stop func(), dir, program, file string, cfg config.Config) error {
	sessions := map[string]string{"painter": "canvas-1", "unlucky": "lottery-7"}
	s.logs = make(map[string]*shownLog)
	for name, session := range sessions {
		s.logs[name] = &shownLog{show: s, who: name, path: filepath.Join(dir, name, session+".log")}
	}
	daemon, stopDaemon := context.WithCancel(ctx)
	defer stopDaemon()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- app.Run(daemon, app.Options{
			ConfigPath: file, Config: cfg, StateDir: filepath.Join(dir, "state"), RuntimeDir: filepath.Join(dir, "run"), LeaseDirs: []string{filepath.Join(dir, "leases")},
			Version: version(), Log: slog.New(slog.DiscardHandler), Seen: s.step, Ready: func() { close(ready) },
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	s.say("resumed", blue, "watches two agents")
	for name, session := range sessions {
		s.watchers.Go(func() { s.logs[name].follow(ctx) })
		agent := exec.CommandContext(ctx, program, "demo-agent", name, session, "paint a house")
		agent.Dir = filepath.Join(dir, name)
		go func() { _ = agent.Run() }() // what becomes of it is in its log
	}
	for range 2 { // one has gone on and finished, one was given up
		select {
		case <-s.ends:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	status, err := control.NewClient(filepath.Join(dir, "run")).Status(ctx, false)
	if err != nil {
		return err
	}
	stopDaemon()
	if err := <-ended; err != nil {
		return err
	}
	stop()
	s.watchers.Wait()
	return s.curtain(status)
}

// stageShow prints what happens, as it happens.
type stageShow struct {
	page     *page
	began    time.Time
	ends     chan struct{}
	watchers sync.WaitGroup
	logs     map[string]*shownLog // by agent

	mu sync.Mutex // one line at a time
}

func (s *stageShow) say(who string, c colour, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := sanitize.Line(fmt.Sprintf(format, args...))
	s.page.line("%5.1fs  %s %s", time.Since(s.began).Seconds(), s.page.paint(c, fmt.Sprintf("%-8s", who)), text)
	_ = s.page.flush() // a demo that nobody reads need not end
	s.page.text.Reset()
}

// step tells what the engine decided.
func (s *stageShow) step(change resume.Change) {
	after, who := change.After, change.After.Key.Agent
	s.logs[who].catchUp() // what it was decided on is shown before it
	switch {
	case change.Entered(resume.Waiting):
		wait := after.NextAt.Sub(change.At)
		why := "backoff"
		if after.Limit.Reset.Stated() {
			why = "as it was asked to"
		}
		s.say("resumed", yellow, "%s is limited: waits %.1fs, %s", who, max(0, wait.Seconds()), why)
	case change.Begun() != nil:
		s.say("resumed", blue, "continues the session %s of %s (resume %d of 3)", after.Key.ID, who, len(after.Attempts))
	case change.Entered(resume.Watching) && change.Before.Interrupted():
		s.say("resumed", green, "%s %s", who, humanize.ReasonAt(after.Reason, change.At))
	case change.Entered(resume.GaveUp):
		s.say("resumed", red, "%s: %s", who, humanize.ReasonAt(after.Reason, change.At))
	}
}

// phone is a person's webhook: it shows what arrives.
func (s *stageShow) phone(ctx context.Context) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the demo's notices: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var notice notify.Notice
		if body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20)); err != nil || json.Unmarshal(body, &notice) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.say("webhook", bold, "%s", notice.Title)
		if notice.Event == notify.GaveUp {
			s.ends <- struct{}{}
		}
	})}
	go func() { _ = server.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/notices", nil
}

// shownLog is what an agent writes, and how much of it was shown.
type shownLog struct {
	show      *stageShow
	who, path string

	mu    sync.Mutex // one reader at a time
	lines int        // that were shown
}

// follow shows what the agent writes until ctx is done.
func (l *shownLog) follow(ctx context.Context) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		l.catchUp()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// catchUp shows what was written since the last time.
func (l *shownLog) catchUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, _ := os.ReadFile(l.path)
	lines := strings.SplitAfter(string(data), "\n")
	for ; l.lines < len(lines)-1; l.lines++ {
		l.show.say(l.who, none, "%s", lines[l.lines])
		if strings.HasPrefix(lines[l.lines], "step 6") {
			l.show.ends <- struct{}{}
		}
	}
}

// curtain shows how both stories ended, as `resumed status` does.
func (s *stageShow) curtain(status control.Status) error {
	s.page.line("")
	s.page.line("%s", s.page.paint(bold, "resumed status"))
	s.page.text.WriteString(s.page.view().Sessions(status.Sessions))
	s.page.line("")
	s.page.line("Next: resumed install, then resumed status. Your agents need no setup.")
	return s.page.flush()
}

func (c *cli) demoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-agent NAME SESSION PROMPT",
		Hidden: true,
		RunE:   func(_ *cobra.Command, args []string) error { return demoAgent(args[0], args[1]) },
	}
}

// demoAgent is a make-believe agent. It writes its transcript into the
// directory it works in, and goes on where the transcript ends.
func demoAgent(name, session string) error {
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
			return errSilent
		case name == "painter" && step == 4 && limits == 0:
			write("error 429: rate limited, retry in 3s")
			return errSilent
		}
		write("step %d: %s", step, demoWork[name][step-1])
	}
	return nil
}

var demoWork = map[string][]string{
	"painter": {"mixes colours", "paints the walls", "paints the roof", "paints the door", "paints a cat", "signs the picture"},
	"unlucky": {"buys a ticket", "waits for the draw", "", "", "", ""},
}
