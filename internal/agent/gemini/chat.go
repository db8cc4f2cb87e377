package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// record is one line of a chat: the header, a message, or a change of earlier messages.
type record struct {
	SessionID string `json:"sessionId"`
	Project   string `json:"projectHash"`
	Kind      string `json:"kind"`

	Messages json.RawMessage `json:"messages"` // of a chat in one document

	ID        string            `json:"id"`
	Timestamp string            `json:"timestamp"`
	Type      string            `json:"type"`
	Content   agent.Parts       `json:"content"`
	Typed     agent.Parts       `json:"displayContent"` // what a person typed, if Content has more
	Thoughts  []json.RawMessage `json:"thoughts"`
	ToolCalls []toolCall        `json:"toolCalls"`
	Model     string            `json:"model"`
	Tokens    struct {
		Total    int64   `json:"total"`
		Output   float64 `json:"output"`
		Thoughts float64 `json:"thoughts"`
	} `json:"tokens"`

	Set struct {
		Messages []record `json:"messages"` // all messages at that time
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`
}

type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   map[string]any  `json:"args"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

func parse(line []byte) (record, bool) { return lines.Parse[record](line) }

func (r record) text() string { return strings.TrimSpace(r.Content.Text()) }

func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// preambles begin messages of Gemini CLI itself at the start of each session.
var preambles = []string{sessionContext, "This is the Gemini CLI."}

const sessionContext, sessionContextEnd = "<session_context>", "</session_context>"

// nudges begin prompts of Gemini CLI to itself, in the user's name, after an empty answer; a request refused in the
// middle of a turn counts as one. Without that prefix the same words are a person's.
var nudges = []string{"[System: ", "System: Please continue."}

func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
}

// prompts reports whether the record is a prompt. Results of tools have the type user too.
func (r record) prompts() bool {
	return r.Type == "user" && r.Content.IsPrompt() && !begins(r.text(), preambles) && !begins(r.text(), nudges)
}

// moved reports whether the record is from the model. An empty answer does not count.
func (r record) moved() bool {
	return r.Type == "gemini" &&
		(len(r.ToolCalls) > 0 || len(r.Thoughts) > 0 || r.Tokens.Output > 0 || r.Tokens.Thoughts > 0 || r.text() != "")
}

func (r record) cancels() bool { return r.Type == "info" && r.text() == "Request cancelled." }

// apiError begins the text of a refusal.
const apiError = "[API Error"

// refused returns the text of a refusal that ended a turn. Other errors, such as an unknown command, end none.
func (r record) refused() (string, bool) {
	text := strings.TrimLeft(r.text(), "✕ ")
	return text, r.Type == "error" && strings.HasPrefix(text, apiError)
}

// IsHeader reports whether a line is the first one of a chat.
func IsHeader(line []byte) bool {
	r, ok := parse(line)
	return ok && r.isHeader()
}

func (r record) isHeader() bool {
	return r.SessionID != "" && r.Project != "" && r.ID == "" && r.Type == "" && r.Messages == nil
}

func (c toolCall) denied() bool {
	words := []string{"requires user confirmation, which is not supported in non-interactive mode", "denied by policy"}
	return c.Status == "error" && slices.ContainsFunc(words, func(words string) bool { return strings.Contains(string(c.Result), words) })
}

// read returns what a line of a chat means. Messages do not contain their session: the header of the file does.
func read(line lines.Line, limits func(time.Time) limit.Reader) (said agent.Record, ok bool) {
	r, ok := parse(line.Data)
	if !ok {
		return said, false
	}
	said.At = r.at(line.ModTime)
	said.Event = r.event(limits(said.At), line.ModTime)
	if n := len(r.Set.Messages); n > 0 { // a list of all messages has no new tool calls
		said.At = r.Set.Messages[n-1].at(line.ModTime)
		return said, true
	}
	if r.Type == "gemini" {
		said.Tokens, said.Model = r.Tokens.Total, r.Model
	}
	said.Prompt = cmp.Or(r.Typed.Text(), r.text())
	for _, c := range r.ToolCalls {
		call := agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)}
		said.Calls, said.Done = append(said.Calls, call), append(said.Done, c.ID) // it is written with its result
		if c.denied() {
			said.Denied = new(agent.Denial(call))
		}
	}
	return said, true
}

// event returns the event of a record; nil: none.
//
// A list that replaces all messages is no progress: each resume begins with one, and a failed or cancelled turn is
// removed by one. It matters only if it ends with a refusal or a cancellation.
func (r record) event(limits limit.Reader, modTime time.Time) resume.Event {
	for _, message := range slices.Backward(r.Set.Messages) {
		_, refused := message.refused()
		if refused || message.cancels() {
			return message.event(limits, modTime)
		}
		if message.Type != "info" && message.Type != "warning" {
			return nil
		}
	}
	limits.At = r.at(modTime)
	text, refused := r.refused()
	switch {
	case limits.At.IsZero():
		return nil
	case refused:
		return resume.Limited{At: limits.At, Verdict: verdict(limits, limit.Refusal{Text: text}), Text: agent.Clip(text)}
	case r.moved():
		return resume.Progressed{At: limits.At}
	case r.prompts():
		return resume.Prompted{At: limits.At}
	case r.cancels(), r.RewindTo != "": // a person went back to an earlier state
		return resume.Cancelled{At: limits.At}
	default:
		return nil
	}
}

var siftMessage = agent.SiftByType([]string{"gemini"}, []string{"user", "error", "info", "$rewindTo"})

// sift ignores updates of the metadata, and new lists of all messages without a refusal or a cancellation.
func sift(line []byte) agent.Weight {
	contains := func(part string) bool { return bytes.Contains(line, []byte(part)) }
	if bytes.HasPrefix(line, []byte(`{"$set":{"messages":[{"`)) && !contains(`"type":"error"`) && !contains(`"type":"info"`) {
		return agent.Nothing
	}
	return siftMessage(line)
}

// chatName is the name of a session's file: the minute it began, and the first 8 digits of its id.
var chatName = lazy.Regexp(`^session-.+-([0-9A-Za-z_-]{8})\.jsonl$`)

// shortID returns these digits. Subagents write deeper, in files with other names.
func shortID(path string) string {
	if name := chatName().FindStringSubmatch(filepath.Base(path)); name != nil {
		return name[1]
	}
	return ""
}

var sessionName = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// isID reports whether a text is safe as the id of a session: it becomes an argument of a command.
func isID(text string) bool { return sessionName().MatchString(text) }

const headSize = 64 << 10

// workspace begins the list of directories in the preamble of a chat: the session began in the first one.
var workspace = lazy.Regexp(`- \*\*Workspace Directories:\*\*\\n  - (.*?)\\n`)

// place returns the session of a line's chat, and the root of its project: from a file beside its chats, from the list
// of all projects in older versions, or of a copied chat from its preamble. A chat of a subagent has no session.
func place(line lines.Line) (session, cwd string) {
	r, _ := parse(line.First())
	if !r.isHeader() || !isID(r.SessionID) || r.Kind != "" && r.Kind != "main" {
		return "", ""
	}
	project := filepath.Dir(filepath.Dir(line.Path))
	data, _ := agent.ReadSettings(filepath.Join(project, ".project_root")) // an unreadable file counts as empty
	if root := strings.TrimRight(string(data), "\r\n"); filepath.IsAbs(root) {
		return r.SessionID, root
	}
	var list struct {
		Projects map[string]string `json:"projects"`
	}
	agent.ReadJSON(filepath.Join(filepath.Dir(filepath.Dir(project)), "projects.json"), &list)
	for root, name := range list.Projects {
		if name == filepath.Base(project) && filepath.IsAbs(root) {
			return r.SessionID, root
		}
	}
	if found := workspace().FindSubmatch(line.Opening(make([]byte, headSize))); found != nil {
		_ = json.Unmarshal(slices.Concat([]byte(`"`), found[1], []byte(`"`)), &cwd)
	}
	return r.SessionID, cwd
}

// ending is how a conversation ends. Gemini CLI removes a failed prompt, and deletes a chat that is then empty.
type ending struct {
	lost  *record // the last prompt, if it was removed
	holds bool    // it has messages
	open  bool    // the last one awaits an answer
}

// maxEndLines bounds how many lines are read backwards: a long turn may have many since the last prompt.
const maxEndLines = 20_000

func endingOf(ctx context.Context, path string) (end ending, err error) {
	var listed []record // the latest list of all messages
	known, rewound := false, false
	err = lines.Last(path, maxEndLines).Back(ctx, func(line lines.Line) bool {
		r, _ := parse(line.Data)
		messages := r.Set.Messages
		if listed == nil {
			listed = messages
		}
		for _, m := range append([]record{r}, messages...) {
			if !known && (m.Type == "gemini" || m.Type == "user" && !begins(m.text(), preambles)) {
				end.holds, end.open = true, m.Type == "user"
			}
		}
		known = known || end.holds || messages != nil // earlier messages count only if they are in the list
		rewound = rewound || r.RewindTo != ""
		if !r.prompts() {
			return true
		}
		kept := listed == nil || slices.ContainsFunc(listed, func(message record) bool { return message.ID == r.ID })
		if rewound || !kept {
			end.lost = &r
		}
		return false
	})
	return end, err
}

// Lost reports whether Gemini CLI removed the last prompt of a chat from the conversation.
func Lost(chat string) bool {
	end, err := endingOf(context.Background(), chat)
	return err == nil && end.lost != nil
}

// maxPrompt is less than the maximum length of an argument on Linux.
const maxPrompt = 120 << 10

// again returns the text to send a removed prompt again; empty: it cannot be sent on a command line.
func (r record) again() string {
	parts := r.Typed
	if len(parts) == 0 {
		parts = r.Content
	}
	if text := parts.Text(); !parts.Attached() && len(text) <= maxPrompt {
		return text
	}
	return ""
}

// statuses are those that an exit code may stand for, which is the status modulo 256.
var statuses = []int{400, 401, 403, 408, 413, 429, 500, 502, 503, 504}

// left returns what can be continued of a session: its chat must still have a conversation of the directory.
func left(ctx context.Context, d *agent.Described, t headless.Continuation, run headless.Ended, dir string) headless.Continuation {
	if status := run.Code + 256; slices.Contains(statuses, status) {
		t.Status = status
	}
	if _, err := os.Stat(filepath.Join(d.Homes.Usual, "tmp")); t.Session != "" && err != nil {
		t.Again = true // chats cannot be searched
		return t
	}
	chats := []string{t.Transcript}
	if t.Transcript == "" && t.Session != "" {
		chats = d.Homes.Files(chatGlob)
	}
	found := headless.Continuation{Status: t.Status}
	for _, path := range chats {
		id, cwd := place(lines.Line{Path: path})
		if id == "" || id != t.Session || !process.SameDir(cwd, dir) {
			continue
		}
		if end, _ := endingOf(ctx, path); end.holds { // an unreadable chat counts as empty
			found.Session, found.Transcript, found.Again = id, path, !end.open
		}
	}
	return found
}

// tidy removes the stubs that a headless resume leaves beside the chat: files with the same id and a later minute in
// their names, which contain only the preamble. The next start of Gemini CLI in that project would find nothing to
// resume in one and delete every file with that id, including the chat. If the chat is gone or is a stub itself,
// nothing may be removed.
func tidy(ctx context.Context, d *agent.Described, s resume.Session) error {
	dir, file := filepath.Split(s.Transcript)
	id := shortID(file)
	if _, err := os.Lstat(s.Transcript); err != nil || id == "" || isStub(s.Transcript, s.Key.ID) {
		return nil
	}
	stubs, _ := fs.Glob(os.DirFS(dir), "session-*-"+id+".jsonl") // errs on a bad pattern only
	stubs = slices.DeleteFunc(stubs, func(other string) bool {
		path := filepath.Join(dir, other)
		info, err := os.Lstat(path)
		return other == file || err != nil || !info.Mode().IsRegular() || !isStub(path, s.Key.ID)
	})
	if len(stubs) == 0 {
		return nil
	}
	owner, err := d.Owner(ctx, s)
	if err != nil || owner != nil {
		return err // a live process may use the file; the next resume tidies again
	}
	for _, stub := range stubs {
		if err := os.Remove(filepath.Join(dir, stub)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stub: %w", err)
		}
	}
	return nil
}

// isStub reports whether a file belongs to that session and contains only preambles, as far as it can be read.
func isStub(path, id string) bool {
	data, err := agent.ReadSettings(path)
	return err == nil && holdsNothing(data, id)
}

// holdsNothing reports whether these lines belong to that session and are only preambles.
func holdsNothing(data []byte, id string) bool {
	headed := false
	for line := range bytes.Lines(data) {
		r, ok := parse(line)
		header := r.isHeader() && r.SessionID == id
		if !ok || !bytes.HasSuffix(line, []byte("\n")) || !header && !isBareUpdate(line) {
			return false // an unknown record may be important
		}
		headed = headed || header
	}
	return headed
}

// isBareUpdate reports whether a line only updates what a stub has: its id, its time, and preambles.
func isBareUpdate(line []byte) bool {
	var update struct {
		Set *struct {
			ID       string   `json:"sessionId"`
			At       string   `json:"lastUpdated"`
			Messages []record `json:"messages"`
		} `json:"$set"`
	}
	more := func(m record) bool {
		text := m.text()
		return m.Type != "user" || len(m.Content) != 1 || strings.Count(text, sessionContext) != 1 ||
			!strings.HasPrefix(text, sessionContext) || !strings.HasSuffix(text, sessionContextEnd)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&update) == nil && update.Set != nil && !slices.ContainsFunc(update.Set.Messages, more)
}
