package execrun

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gemini is Gemini CLI with --prompt.
type gemini struct{}

func (gemini) program() string { return "gemini" }

// geminiGrammar is also that of its descendants.
var geminiGrammar = grammar{
	"-d": alone, "--debug": alone, "-s": alone, "--sandbox": alone, "-y": alone, "--yolo": alone, "--skip-trust": alone,
	"--screen-reader": alone, "-l": alone, "--list-extensions": alone, "--list-sessions": alone, "--raw-output": alone,
	"--accept-raw-output-risk": alone, "-c": alone, "--continue": alone, "--include-partial-messages": alone,
	"-m": one, "--model": one, "-p": one, "--prompt": one, "-i": one, "--prompt-interactive": one, "--approval-mode": one,
	"-o": one, "--output-format": one, "--input-format": one, "--session-id": one, "--auth-type": one, "--max-session-turns": one,
	"-r": maybe, "--resume": maybe, "-w": maybe, "--worktree": maybe,
	"--allowed-mcp-server-names": one, "--allowed-tools": one, "-e": one, "--extensions": one, "--include-directories": one,
	"--policy": one, "--core-tools": one, "--exclude-tools": one,
}

func (gemini) grammar() grammar { return geminiGrammar }

// geminiCommands are words that are no prompt.
var geminiCommands = []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma", "auth", "channel"}

func (gemini) prints(l line) bool { return geminiPrints(l) }

func geminiPrints(l line) bool {
	plain := l.plain()
	if len(plain) > 0 && slices.Contains(geminiCommands, plain[0]) {
		return false
	}
	return (l.has("-p", "--prompt") || len(plain) > 0) && !l.has("-i", "--prompt-interactive", "--list-sessions")
}

func (gemini) prompted(l line) bool { return geminiPrompted(l) }

func geminiPrompted(l line) bool { return len(l.plain()) > 0 || l.value("-p", "--prompt") != "" }

func (gemini) named(l line) string { return geminiNamed(l) }

func geminiNamed(l line) string {
	for _, id := range []string{l.value("--session-id"), l.value("-r", "--resume")} {
		if plainID.MatchString(id) && strings.Contains(id, "-") { // not an index, not "latest"
			return id
		}
	}
	return ""
}

// fix leaves the id to gemini: versions that are still in use do not know the
// option, and would not run at all.
func (gemini) fix(line, string) []string { return nil }

// heard returns the session as far as its chat holds anything: gemini takes a
// prompt that failed back out of it, and throws away a chat that is empty then.
func (gemini) heard(r run) session {
	tmp := filepath.Join(home("GEMINI_CLI_HOME"), ".gemini", "tmp")
	id := cmp.Or(r.said.Session, r.id)
	if id != "" && !exists(tmp) {
		return session{id: id, again: true} // nobody can look
	}
	chats := geminiChats(tmp, r.dir)
	if chats == "" {
		return session{}
	}
	var found []chat
	for _, path := range writtenSince(filepath.Join(chats, "session-*.jsonl"), r.began) {
		// One that holds nothing is left over, or another one's that begins.
		if c, err := readChat(path); err == nil && c.holds && plainID.MatchString(c.id) && (id == "" || c.id == id) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return session{}
	}
	return session{id: found[0].id, again: !found[0].open, transcript: found[0].path}
}

// geminiChats returns where the chats of a project are.
func geminiChats(tmp, dir string) string {
	roots, _ := filepath.Glob(filepath.Join(tmp, "*", ".project_root")) // errs on a bad pattern only
	for _, root := range roots {
		if data, err := os.ReadFile(root); err == nil && strings.TrimSpace(string(data)) == dir {
			return filepath.Join(filepath.Dir(root), "chats")
		}
	}
	return ""
}

// chat is what a file of gemini's holds.
type chat struct {
	path  string
	id    string
	holds bool // something was said
	open  bool // the last that was said awaits an answer
}

// longestChatLine bounds the memory that one line may take.
const longestChatLine = 32 << 20

func readChat(path string) (chat, error) {
	file, err := os.Open(path)
	if err != nil {
		return chat{}, err
	}
	defer file.Close()
	c := chat{path: path}
	type message struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	said := func(m message) {
		switch {
		case m.Type == "gemini":
			c.holds, c.open = true, false
		case m.Type == "user" && !strings.Contains(string(m.Content), "<session_context>"):
			c.holds, c.open = true, true
		}
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 64<<10), longestChatLine)
	for lines.Scan() {
		var record struct {
			message
			SessionID string `json:"sessionId"`
			Set       struct {
				Messages *[]message `json:"messages"`
			} `json:"$set"`
		}
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			continue
		}
		if c.id == "" {
			c.id = record.SessionID
		}
		if record.Set.Messages != nil { // the list as a whole, anew
			c.holds, c.open = false, false
			for _, m := range *record.Set.Messages {
				said(m)
			}
		}
		said(record.message)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return chat{}, err
	}
	return c, nil
}

func (gemini) resume(l line, s session, prompt string) []string {
	if s.again {
		args := append(l.options("-r", "--resume", "--session-id"), "--resume", s.id)
		return append(args, l.plain()...)
	}
	return geminiResume(l, s.id, prompt)
}

func geminiResume(l line, id, prompt string) []string {
	args := l.options("-r", "--resume", "--session-id", "-c", "--continue", "-p", "--prompt", "--input-format")
	args = append(args, "--resume", id)
	if strings.HasPrefix(prompt, "-") {
		return append(args, "--prompt="+prompt)
	}
	return append(args, "-p", prompt)
}

// status undoes what becomes of an HTTP status as an exit code.
func (gemini) status(code int) int {
	switch status := code + 256; status {
	case 400, 401, 403, 408, 413, 429, 500, 502, 503, 504:
		return status
	default:
		return 0
	}
}
