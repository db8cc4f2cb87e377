package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Head is the first record of a rollout, which describes the session.
type Head struct {
	ID       string `json:"id"`
	Cwd      string `json:"cwd"` // where it began
	Version  string `json:"cli_version"`
	Provider string `json:"model_provider"`
	History  string `json:"history_mode"` // until 0.145 "legacy", or nothing

	Originator   string          `json:"originator"`
	Source       json.RawMessage `json:"source"` // a name, or an object for other kinds of threads
	ThreadSource string          `json:"thread_source"`
	Parent       string          `json:"parent_thread_id"`
	Role         string          `json:"agent_role"`
	Nickname     string          `json:"agent_nickname"`
}

const ownProvider = "openai"

// The limits of the user's plan do not apply to other providers.
func (h Head) provider() string {
	if h.Provider == ownProvider {
		return ""
	}
	return h.Provider
}

// Kind returns whether the session is headless or interactive; "": not known. The source alone does
// not tell a terminal from an editor, and the originator can be any name.
func (h Head) Kind() string {
	var source string
	_ = json.Unmarshal(h.Source, &source) // for other kinds of threads it is not a name
	switch {
	case h.Originator == "codex_exec" || source == "exec":
		return resume.Headless
	case h.Originator == "codex-tui" || source == "cli":
		return resume.Interactive
	default:
		return ""
	}
}

// App returns the editor or desktop app that the session was begun in; "": none, or not known.
func (h Head) App() string {
	switch {
	case h.Originator == "codex_vscode":
		return "VS Code"
	case h.Originator == "codex_desktop" || strings.HasPrefix(h.Originator, "Codex "):
		return "Codex Desktop"
	default:
		return ""
	}
}

// delegated reports whether the thread works for another one, or for Codex itself: it is not
// continued separately.
func (h Head) delegated() bool {
	if h.Parent != "" || h.Role != "" || h.Nickname != "" ||
		h.ThreadSource == "subagent" || h.ThreadSource == "memory_consolidation" {
		return true
	}
	var kind map[string]json.RawMessage
	_ = json.Unmarshal(h.Source, &kind) // a name has no keys
	return slices.ContainsFunc([]string{"subagent", "sub_agent", "subAgent", "internal"}, func(key string) bool { return kind[key] != nil })
}

// silent reports whether the record's version does not write why a turn failed. 0.145 is the first
// that does. It numbers its records, and "codex migrate-rollouts" numbers older ones afterwards.
func (h Head) silent(r record) bool {
	since, known := h.Since(145)
	return known && !since && (len(r.Ordinal) == 0 || h.History == "paginated")
}

// Since reports whether version 0.MINOR or a later one began the session, and whether that is known.
func (h Head) Since(minor int) (since, known bool) {
	var first, second int
	n, _ := fmt.Sscanf(h.Version, "%d.%d.", &first, &second)
	return n == 2 && (first > 0 || second >= minor), n == 2
}

func (h Head) sessionID(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	for _, id := range []string{h.ID, name[max(0, len(name)-36):]} {
		if agent.IsUUID(id) {
			return id
		}
	}
	return "" // a copy of the last records may not contain it
}

// Turn contains the settings of a turn.
type Turn struct {
	Cwd      string          `json:"cwd"`
	Approval json.RawMessage `json:"approval_policy"`    // a name, or an object with details
	Reviewer string          `json:"approvals_reviewer"` // who is asked
	Sandbox  Sandbox         `json:"sandbox_policy"`
	Profile  Profile         `json:"active_permission_profile"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
}

// Sandbox is what commands may access.
type Sandbox struct {
	Type    string   `json:"type"`
	Mode    string   `json:"mode"` // the name of Type in early versions
	Roots   []string `json:"writable_roots"`
	Network bool     `json:"network_access"`
	NoEnv   bool     `json:"exclude_tmpdir_env_var"`
	NoTmp   bool     `json:"exclude_slash_tmp"`
}

// Profile is a named set of permissions. Codex's own names begin with a colon: they are sandboxes.
type Profile struct {
	ID string `json:"id"`
}

// Policy returns the name of the approval policy: when a person is asked.
func (t Turn) Policy() string {
	var name string
	_ = json.Unmarshal(t.Approval, &name) // an object with details has no name
	return name
}

// Own reports whether the profile is defined by the user.
func (p Profile) Own() bool { return p.ID != "" && !strings.HasPrefix(p.ID, ":") }

// Name returns the kind of the sandbox.
func (s Sandbox) Name() string { return cmp.Or(s.Type, s.Mode) }
