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
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

var sessionName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether a text is safe as the id of a session: it becomes an argument of a command.
func IsID(text string) bool { return sessionName.MatchString(text) }

// place returns the session of a line's chat, and the root of its project. A chat of a subagent has no session.
func place(line lines.Line) (session, cwd string) {
	begin, held := line.Beginning() // mostly the needed part of the file is in memory
	if !held {
		room, done := lines.Borrow()
		defer done()
		begin = line.Opening(room[:headSize])
	}
	session, ok := idIn(begin)
	if !ok {
		return "", ""
	}
	return session, cmp.Or(projectRoot(line.Path), firstDirectory(begin))
}

// headSize is how much of a file's beginning is read: the header and the preamble.
const headSize = 64 << 10

// idIn returns the session in the header, unless it is that of a subagent.
func idIn(begin []byte) (string, bool) {
	for line := range bytes.Lines(begin) {
		if r, ok := parse(line); ok && r.isHeader() {
			return r.SessionID, IsID(r.SessionID) && (r.Kind == "" || r.Kind == "main")
		}
	}
	return "", false
}

// projectRoot returns the directory of a chat's project, from a file beside its chats or, in older versions,
// from the list of all projects.
func projectRoot(chat string) string {
	project := filepath.Dir(filepath.Dir(chat))
	data, _ := agent.ReadSettings(filepath.Join(project, ".project_root")) // an unreadable file counts as empty
	if root := strings.TrimRight(string(data), "\r\n"); filepath.IsAbs(root) {
		return root
	}
	var list struct {
		Projects map[string]string `json:"projects"`
	}
	agent.ReadJSON(filepath.Join(filepath.Dir(filepath.Dir(project)), "projects.json"), &list)
	for root, name := range list.Projects {
		if name == filepath.Base(project) && filepath.IsAbs(root) {
			return root
		}
	}
	return ""
}

// workspace begins the list of directories in the preamble of a chat: the session began in the first one.
var workspace = regexp.MustCompile(`- \*\*Workspace Directories:\*\*\\n  - (.*?)\\n`)

// firstDirectory returns the first directory in the preamble of a chat.
func firstDirectory(begin []byte) (dir string) {
	if found := workspace.FindSubmatch(begin); found != nil {
		_ = json.Unmarshal(slices.Concat([]byte(`"`), found[1], []byte(`"`)), &dir)
	}
	return dir
}

// maxEndLines bounds how many lines of a chat are read backwards: a long turn may have many records since the
// last prompt.
const maxEndLines = 20_000

// back visits the records of a chat from its end backwards, until visit returns false.
func back(ctx context.Context, path string, visit func(record) bool) error {
	return lines.Last(path, maxEndLines).Back(ctx, func(line lines.Line) bool {
		r, ok := parse(line.Data)
		return !ok || visit(r)
	})
}

// lostPrompt returns the last prompt of a chat if Gemini CLI removed it from the conversation, else nil.
func lostPrompt(ctx context.Context, path string) (lost *record, err error) {
	var listed []record // the latest list of all messages
	rewound := false
	err = back(ctx, path, func(r record) bool {
		if listed == nil {
			listed = r.Set.Messages
		}
		rewound = rewound || r.RewindTo != ""
		if !r.prompts() {
			return true
		}
		kept := listed == nil || slices.ContainsFunc(listed, func(message record) bool { return message.ID == r.ID })
		if rewound || !kept {
			lost = &r
		}
		return false
	})
	return lost, err
}

// Lost reports whether Gemini CLI removed the last prompt of a chat from the conversation.
func Lost(chat string) bool {
	lost, err := lostPrompt(context.Background(), chat)
	return err == nil && lost != nil
}

// conversation reports whether a chat has messages, and whether the last one awaits an answer. Gemini CLI removes a
// failed prompt from the conversation, and deletes a chat that is then empty.
func conversation(ctx context.Context, path string) (holds, open bool) {
	_ = back(ctx, path, func(r record) bool { // an unreadable chat counts as empty
		messages := r.Set.Messages
		if messages == nil {
			messages = []record{r}
		}
		for _, m := range slices.Backward(messages) {
			if m.Type == "gemini" || m.Type == "user" && !begins(m.text(), preambles) {
				holds, open = true, m.Type == "user"
				return false
			}
		}
		return r.Set.Messages == nil // earlier messages count only if they are in the list
	})
	return holds, open
}

// left returns what can be continued of a session: its chat must still have a conversation of the directory.
func left(ctx context.Context, d *agent.Described, t headless.Trail, run headless.Ended, dir string) headless.Trail {
	t.Status = status(run.Code)
	if _, err := os.Stat(filepath.Join(d.Homes.Usual, "tmp")); t.Session != "" && err != nil {
		t.Again = true // chats cannot be searched
		return t
	}
	chats := []string{t.Transcript}
	if t.Transcript == "" && t.Session != "" {
		chats = d.Homes.Files(chatGlob)
	}
	found := headless.Trail{Status: t.Status}
	for _, path := range chats {
		id, cwd := place(lines.Line{Path: path})
		if id == "" || id != t.Session || !process.SameDir(cwd, dir) {
			continue
		}
		if holds, open := conversation(ctx, path); holds {
			found.Session, found.Transcript, found.Again = id, path, !open
		}
	}
	return found
}

// status returns the HTTP status of an exit code, which is the status modulo 256.
func status(code int) int {
	if status := code + 256; slices.Contains([]int{400, 401, 403, 408, 413, 429, 500, 502, 503, 504}, status) {
		return status
	}
	return 0
}

// tidy removes the stubs that a headless resume leaves beside the chat: files with the same id and a later minute in
// their names, which contain only the preamble. The next start of Gemini CLI in that project would find nothing to
// resume in one and delete every file with that id, including the chat. If the chat is gone or is a stub itself,
// nothing may be removed.
func tidy(ctx context.Context, d *agent.Described, s resume.Session) error {
	dir, file := filepath.Split(s.Transcript)
	name := chatName.FindStringSubmatch(file)
	if _, err := os.Lstat(s.Transcript); err != nil || name == nil || isStub(s.Transcript, s.Key.ID) {
		return nil
	}
	stubs, _ := fs.Glob(os.DirFS(dir), "session-*-"+name[1]+".jsonl") // errs on a bad pattern only
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

// isStub reports whether a file belongs to that session and contains only preambles. A file that cannot be read
// completely is not a stub.
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
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&update) == nil && update.Set != nil &&
		!slices.ContainsFunc(update.Set.Messages, func(m record) bool { return !m.isBarePreamble() })
}

// isBarePreamble reports whether a message is a preamble and nothing else.
func (r record) isBarePreamble() bool {
	return r.Type == "user" && len(r.Content) == 1 &&
		strings.HasPrefix(r.text(), sessionContext) && strings.HasSuffix(r.text(), sessionContextEnd) &&
		strings.Count(r.text(), sessionContext) == 1
}
