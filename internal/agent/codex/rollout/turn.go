package rollout

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Turn is what a turn was begun with.
type Turn struct {
	Cwd      string          `json:"cwd"`
	Approval json.RawMessage `json:"approval_policy"`    // a name, or an object of details
	Reviewer string          `json:"approvals_reviewer"` // who is asked
	Sandbox  Sandbox         `json:"sandbox_policy"`
	Profile  Profile         `json:"active_permission_profile"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
}

// Sandbox is what commands may touch.
type Sandbox struct {
	Type    string   `json:"type"`
	Mode    string   `json:"mode"` // what early versions call the type
	Roots   []string `json:"writable_roots"`
	Network bool     `json:"network_access"`
	NoEnv   bool     `json:"exclude_tmpdir_env_var"`
	NoTmp   bool     `json:"exclude_slash_tmp"`
}

// Profile is a named set of permissions. The names that Codex gives itself
// begin with a colon; they say the same as a sandbox.
type Profile struct {
	ID string `json:"id"`
}

// Policy is when a person is asked, by its name.
func (t Turn) Policy() string {
	var name string
	_ = json.Unmarshal(t.Approval, &name) // an object of details is none of the names
	return name
}

// Own reports whether the profile is one of the user's.
func (p Profile) Own() bool { return p.ID != "" && !strings.HasPrefix(p.ID, ":") }

// Name is what kind of sandbox it is.
func (s Sandbox) Name() string { return cmp.Or(s.Type, s.Mode) }
