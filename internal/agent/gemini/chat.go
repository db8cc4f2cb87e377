package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
)

var sessionName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether a text is safe as the id of a session: it becomes an argument of a command.
func IsID(text string) bool { return sessionName.MatchString(text) }

// place returns the session of a line's chat, and the root of its project. A chat of a subagent has no session.
func place(line agent.Line) (session, cwd string) {
	begin, held := line.Beginning() // mostly the needed part of the file is in memory
	if !held {
		room, done := agent.Borrow()
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

// lostPrompt returns the last prompt of a chat if Gemini CLI removed it from the conversation, else nil.
func lostPrompt(ctx context.Context, path string) (lost *record, err error) {
	var listed []record // the latest list of all messages
	visited, rewound := 0, false
	err = agent.LinesBack(ctx, path, func(line agent.Line) bool {
		visited++
		r, ok := parse(line.Data)
		if line.Cut || !ok {
			return visited < maxEndLines
		}
		if listed == nil {
			listed = r.Set.Messages
		}
		rewound = rewound || r.RewindTo != ""
		if !r.prompts() {
			return visited < maxEndLines
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
	_ = agent.LinesBack(ctx, path, func(line agent.Line) bool { // an unreadable chat counts as empty
		r, ok := parse(line.Data)
		if line.Cut || !ok {
			return true
		}
		messages := r.Set.Messages
		if messages == nil {
			messages = []record{r}
		}
		for _, m := range slices.Backward(messages) {
			if m.Type == "gemini" || m.Type == "user" && !m.isPreamble() {
				holds, open = true, m.Type == "user"
				return false
			}
		}
		return r.Set.Messages == nil // earlier messages count only if they are in the list
	})
	return holds, open
}
