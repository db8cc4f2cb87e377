package codex

import (
	"context"
	"encoding/json"
	"math"

	"resumed/internal/agent"
)

// turn is what a turn was begun with.
type turn struct {
	Cwd      string          `json:"cwd"`
	Approval json.RawMessage `json:"approval_policy"`    // a name, or an object of details
	Reviewer string          `json:"approvals_reviewer"` // who is asked
	Sandbox  sandbox         `json:"sandbox_policy"`
	Profile  profile         `json:"active_permission_profile"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
}

// sandbox is what commands may touch.
type sandbox struct {
	Type    string   `json:"type"`
	Mode    string   `json:"mode"` // what early versions call the type
	Roots   []string `json:"writable_roots"`
	Network bool     `json:"network_access"`
	NoEnv   bool     `json:"exclude_tmpdir_env_var"`
	NoTmp   bool     `json:"exclude_slash_tmp"`
}

// profile is a named set of permissions. The names that Codex gives itself
// begin with a colon; they say the same as a sandbox.
type profile struct {
	ID string `json:"id"`
}

// turnBefore returns the last turn_context before a line, and where it
// stands. Lines before since are not looked at.
func turnBefore(ctx context.Context, last agent.Line, since int64) (t turn, at int64, found bool, err error) {
	err = agent.LinesBefore(ctx, last, func(line agent.Line) bool {
		if line.Offset < since {
			return false
		}
		if line.Cut || !mayBe(line.Data, "turn_context", "") {
			return true
		}
		r, ok := parse(line.Data)
		found = ok && r.Type == "turn_context"
		t, at = r.Payload.turn, line.Offset
		return !found
	})
	return t, at, found, err
}

// lastTurn returns the last turn_context of a rollout.
func lastTurn(ctx context.Context, path string) (t turn, found bool, err error) {
	t, _, found, err = turnBefore(ctx, agent.Line{Path: path, Offset: math.MaxInt64}, 0)
	return t, found, err
}

// workDir is the directory of the last turn that begins at an offset, as far as
// the rollout was looked through.
type workDir struct {
	cwd   string
	from  int64 // where it is named; -1 for the directory that the session began in
	until int64 // no line before it names another
}

// begins notes the directory of the turn that begins with the line.
func (a *Agent) begins(t turn, line agent.Line) {
	known, ok := a.dirs.Get(line.Path)
	if ok && line.Offset <= known.from {
		return
	}
	a.dirs.Put(line.Path, workDir{cwd: t.Cwd, from: line.Offset, until: max(line.Offset, known.until)})
}

// cwd returns the directory of the turn that the line belongs to. Codex moves a
// session to wherever it was last continued.
func (a *Agent) cwd(h head, line agent.Line) string {
	known, ok := a.dirs.Get(line.Path)
	switch {
	case !ok:
		known = workDir{cwd: h.Cwd, from: -1}
	case line.Offset <= known.from: // a look back
		t, _, found, err := turnBefore(context.Background(), line, 0)
		if err != nil || !found {
			return h.Cwd
		}
		return t.Cwd
	case line.Offset <= known.until, line.Offset-line.Shown <= known.until:
		return known.cwd
	}
	t, at, found, err := turnBefore(context.Background(), line, known.until)
	if err != nil {
		return known.cwd
	}
	if found {
		known.cwd, known.from = t.Cwd, at
	}
	known.until = line.Offset
	a.dirs.Put(line.Path, known)
	return known.cwd
}
