package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

var (
	inlineCommand = regexp.MustCompile("`(resumed [a-z-][^`]*)`")
	promptedLine  = regexp.MustCompile(`^(?:\w+)?\$ (.+)$`)
	rowCommand    = regexp.MustCompile("^\\| ((?:`[^`]+`(?: · )?)+) \\|")
	trailing      = regexp.MustCompile(`\s+#.*$`)
	optional      = regexp.MustCompile(`\s*\[[^\]]*\]`)
)

// shownCommands returns every command in a document, by place: in blocks with a prompt, in lines of a
// block, in the text, and in the README's table of commands.
func shownCommands(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []string
	add := func(command string) {
		command = strings.ReplaceAll(strings.TrimSpace(trailing.ReplaceAllString(command, "")), "go run ./cmd/resumed", "resumed")
		all = append(all, optional.ReplaceAllString(command, ""))
	}
	fence, table := false, false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		table = line != "" && (table || strings.HasPrefix(line, "| command | does |"))
		switch {
		case strings.HasPrefix(line, "```"):
			fence = !fence
		case fence && promptedLine.MatchString(line):
			add(promptedLine.FindStringSubmatch(line)[1])
		case fence && (strings.HasPrefix(line, "resumed ") && !strings.Contains(line, ", pid ") || strings.Contains(line, "| resumed ")):
			add(line)
		case fence:
		case table && rowCommand.MatchString(line):
			cell := rowCommand.FindStringSubmatch(line)[1]
			first := ""
			for i, name := range strings.Split(cell, " · ") {
				name = strings.Trim(name, "`")
				if i == 0 {
					first, _, _ = strings.Cut(name, " ")
				} else if first == "config" || first == "completion" {
					name = first + " " + name // `config init` · `check`
				}
				add("resumed " + strings.ReplaceAll(name, "FILE…", "FILE"))
			}
		default:
			for _, found := range inlineCommand.FindAllStringSubmatch(line, -1) {
				add(found[1])
			}
		}
	}
	return all
}

// endless are commands that run until they are stopped; they are only started.
var endless = regexp.MustCompile(`^resumed (run|status --watch|logs .*-f|open$|demo$)`)

// unlucky are commands that correctly fail in this home, and why.
var unlucky = map[string]string{
	"resumed doctor":            "it finds what stands in the way",
	"resumed notify test":       "there is no desktop",
	"resumed install":           "there is no service manager",
	"resumed uninstall --purge": "it asks, and nobody answers",
	"resumed exec":              "it says what is missing",
	"resumed explain":           "it says what is missing",
	"resumed shell COMMAND":     "there is no such program",
	"resumed shell claude":      "it is not installed",

	"resumed shell --tmux claude": "there is no terminal",
	"resumed config init":         "there is a file already",

	"resumed usage --wait":                                                      "there is no room",
	"resumed usage --wait ACCOUNT":                                              "there is no such account",
	"resumed usage --wait --below 80 && ./nightly.sh":                           "there is no room",
	`resumed queue add --after reset --model opus -- "update the dependencies"`: "no reset is known",

	"resumed hub":                  "there is none",
	"resumed hub remove NAME":      "there is none",
	"resumed hub list":             "there is none",
	"resumed fleet join LINE":      "that is no line",
	"resumed fleet join tls://…":   "that is no line",
	"resumed fleet join -":         "that is no line",
	"resumed fleet leave":          "there is no fleet",
	"resumed fleet forget ACCOUNT": "there is no fleet",
	"resumed retry HOST/SESSION":   "there is no fleet",
	"resumed status --fleet":       "there is no fleet",
}

// Every command in the documents exists, with its flags and arguments, and works in a home with an
// agent.
func TestEveryCommandOfTheDocumentsRuns(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+"[backoff]\nbase_delay = \"100ms\"\nmax_retries = 1\njitter = false\n[http]\nlisten = \"127.0.0.1:0\"\n")
	b.write("bot/resume.sh", `echo "no luck"; exit 7`)
	b.write("run.log", "Error: 429 Too Many Requests\n")
	for _, foreign := range []string{
		"claude", "codex", "gemini", "qwen", "opencode", "kilo", "copilot", "kimi", "pi", "curl", "make", "go", "sudo", "systemctl", "loginctl", "launchctl", "journalctl", "ssh", "npm", "apt", "tmux", "xdg-open", "source",
	} {
		b.write("bin/"+foreign, "#!/bin/sh\n[ -t 0 ] || cat >/dev/null\nexit 0\n")
	}
	b.write("bin/systemctl", "#!/bin/sh\n[ \"$1\" != --version ] || echo 'systemd 257 (257.4-1)'\n")
	require.NoError(t, os.Symlink(program, b.path("bin", "resumed")))
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)
	meant := strings.NewReplacer("~/.claude/projects/-src-shop/4f2a….jsonl", b.path("bot/logs/s-1.log"), "~/mybot/logs/s1.log", b.path("bot/logs/s-1.log"),
		"--wait", "--wait --timeout 1ms", "SESSION…", "s-1", "SESSION", "s-1", "4f2a", "s-1", "neve", "s-1", " FILE", " "+b.path("bot/logs/s-1.log"), "COMMAND", "claude", "…", "go on", " COMMIT", "")

	var files []string
	for _, pattern := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md", "docs/agents/*.md", "launchd/*.md", "systemd/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	where := make(map[string]string)
	for _, file := range files {
		for _, command := range shownCommands(t, file) {
			where[command] += " " + filepath.Base(file)
		}
	}
	require.Greater(t, len(where), 40, "the documents were read")
	commands := slices.SortedFunc(maps.Keys(where), func(a, b string) int { return strings.Compare(rank(a)+a, rank(b)+b) })
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			out, code, ended := b.typed(t, meant.Replace(command), endless.MatchString(command))
			require.NotContains(t, out, "unknown command", where[command])
			require.NotContains(t, out, "has no flag", where[command])
			if _, may := unlucky[command]; !ended || may {
				return
			}
			require.Zero(t, code, "%s, in%s:\n%s", command, where[command], out)
		})
	}
}

// rank puts commands that end the service last.
func rank(command string) string {
	if strings.Contains(command, "uninstall") {
		return "2"
	}
	return "1"
}

// heard stores a command's output, and calls a function at its first words.
type heard struct {
	said bytes.Buffer
	call func()
}

func (h *heard) Write(p []byte) (int, error) {
	h.call()
	return h.said.Write(p)
}

// typed runs a command in a shell, as a person would. An endless one is stopped after its first output.
func (b *box) typed(t *testing.T, command string, endless bool) (out string, code int, ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env, cmd.Dir = b.env(), b.home
	if strings.HasPrefix(command, "resumed run") { // next to the running daemon
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+b.path("other"), "XDG_RUNTIME_DIR="+b.path("other"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = 20 * time.Second
	said := &heard{call: func() {}}
	if endless {
		said.call = cancel
	}
	cmd.Stdout, cmd.Stderr = said, said
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, context.Canceled) {
		require.NoError(t, fmt.Errorf("%s: %w", command, err))
	}
	require.NotErrorIs(t, ctx.Err(), context.DeadlineExceeded, "%s goes on and says nothing", command)
	return said.said.String(), cmd.ProcessState.ExitCode(), ctx.Err() == nil
}
