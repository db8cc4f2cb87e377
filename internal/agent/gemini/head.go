package gemini

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
)

// head is what a chat's beginning and its place say of its session.
type head struct {
	id  string
	cwd string // the project's root; empty where it is not known
}

var sessionName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether a text may be the id of a session: it becomes an argument
// of a command.
func IsID(text string) bool { return sessionName.MatchString(text) }

// head returns which session the chat of a line is of. It has no id where that is none,
// or a subagent's.
func (a *Agent) head(line agent.Line) head {
	h, known := a.heads.Get(line.Path)
	if known {
		return h
	}
	h, settled := readHead(line)
	if settled {
		a.heads.Put(line.Path, h)
	}
	return h
}

// readHead reads whose chat the line is of, and reports whether that is all there
// will ever be to know. A head without an id is none.
func readHead(line agent.Line) (h head, settled bool) {
	root := projectRoot(line.Path)
	begin, held := line.Beginning() // mostly all that is needed of the file is at hand
	id, ok := idIn(begin)
	if root == "" || !held && !ok {
		var err error
		if begin, err = readBegin(line.Path); err != nil {
			return head{}, false
		}
		id, ok = idIn(begin)
	}
	switch {
	case !ok:
		return head{}, false
	case root == "":
		return head{id: id, cwd: firstDirectory(begin)}, false // the place may tell better, later
	default:
		return head{id: id, cwd: root}, true
	}
}

// headSize is how much of a file's beginning is read: the header and the
// preamble.
const headSize = 64 << 10

func readBegin(path string) ([]byte, error) {
	f, err := agent.OpenText(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, headSize))
}

// idIn returns the session that the header names.
func idIn(begin []byte) (string, bool) {
	for line := range bytes.Lines(begin) {
		r, ok := parse(line)
		if !ok || !r.isHeader() {
			continue
		}
		return r.SessionID, IsID(r.SessionID) && isMain(r.Kind)
	}
	return "", false
}

// isMain reports whether chats of that kind are a person's own, not a subagent's.
func isMain(kind string) bool { return kind == "" || kind == "main" }

// projectRoot returns the directory that a chat's project is about, by what
// lies beside its chats or, before that was so, by the list of all projects.
func projectRoot(chat string) string {
	if chat == "" {
		return ""
	}
	project := filepath.Dir(filepath.Dir(chat))
	if data, err := agent.ReadSettings(filepath.Join(project, ".project_root")); err == nil {
		if root := strings.TrimRight(string(data), "\r\n"); filepath.IsAbs(root) {
			return root
		}
	}
	data, err := agent.ReadSettings(filepath.Join(filepath.Dir(filepath.Dir(project)), "projects.json"))
	if err != nil {
		return ""
	}
	var list struct {
		Projects map[string]string `json:"projects"`
	}
	if json.Unmarshal(data, &list) != nil {
		return ""
	}
	for root, name := range list.Projects {
		if name == filepath.Base(project) && filepath.IsAbs(root) {
			return root
		}
	}
	return ""
}

// firstDirectory finds the directory that the preamble of a chat names first:
// where the session began.
func firstDirectory(head []byte) string {
	_, rest, found := strings.Cut(string(head), `- **Workspace Directories:**\n  - `)
	if !found {
		return ""
	}
	escaped, _, found := strings.Cut(rest, `\n`)
	var dir string
	if !found || json.Unmarshal([]byte(`"`+escaped+`"`), &dir) != nil {
		return ""
	}
	return dir
}
