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

// IsID reports whether a text may be the id of a session: it becomes an argument
// of a command.
func IsID(text string) bool { return sessionName.MatchString(text) }

// place returns the session that the chat of a line is of, and the root of its project. A
// chat of a subagent is of none.
func place(line agent.Line) (session, cwd string) {
	begin, held := line.Beginning() // mostly all that is needed of the file is in memory
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

// idIn returns the session that the header names, unless it is a subagent's.
func idIn(begin []byte) (string, bool) {
	for line := range bytes.Lines(begin) {
		if r, ok := parse(line); ok && r.isHeader() {
			return r.SessionID, IsID(r.SessionID) && (r.Kind == "" || r.Kind == "main")
		}
	}
	return "", false
}

// projectRoot returns the directory that a chat's project is about, by what
// lies beside its chats or, in older versions, by the list of all projects.
func projectRoot(chat string) string {
	project := filepath.Dir(filepath.Dir(chat))
	data, _ := agent.ReadSettings(filepath.Join(project, ".project_root")) // what cannot be read tells nothing
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

// workspace begins the list of directories in the preamble of a chat: the first is where the
// session began.
var workspace = regexp.MustCompile(`- \*\*Workspace Directories:\*\*\\n  - (.*?)\\n`)

// firstDirectory returns the directory that the preamble of a chat names first.
func firstDirectory(begin []byte) (dir string) {
	if found := workspace.FindSubmatch(begin); found != nil {
		_ = json.Unmarshal(slices.Concat([]byte(`"`), found[1], []byte(`"`)), &dir)
	}
	return dir
}

// maxEndLines bounds how far back a chat is looked through: in one long turn
// there may be many records since the last prompt.
const maxEndLines = 20_000

// lostPrompt returns the last prompt of a chat if Gemini CLI took it back out of the
// conversation, else nil.
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

// Lost reports whether Gemini CLI took the last prompt of a chat back out of the conversation.
func Lost(chat string) bool {
	lost, err := lostPrompt(context.Background(), chat)
	return err == nil && lost != nil
}

// conversation reports whether a chat holds anything, and whether the last that was said awaits
// an answer. Gemini CLI takes a prompt that failed back out of the conversation, and throws away
// a chat that is empty then.
func conversation(ctx context.Context, path string) (holds, open bool) {
	_ = agent.LinesBack(ctx, path, func(line agent.Line) bool { // what cannot be read holds nothing
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
		return r.Set.Messages == nil // what was said before counts only as far as it is listed
	})
	return holds, open
}
