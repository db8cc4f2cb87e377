package rollout

import (
	"cmp"
	"encoding/json"
	"strings"
)

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

// Profile is a named set of permissions. Codex's own names begin with a colon; they are equivalent to a
// sandbox.
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
