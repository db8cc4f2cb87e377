package codex

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent/codex/rollout"
)

// fullAccess means no sandbox. Nobody is asked about what such a session does: a run without a
// terminal never asks.
const fullAccess = "danger-full-access"

// workspace is the sandbox that allows a session to write in its directory.
const workspace = "workspace-write"

// untrusted is the policy that asks a person before commands run.
const untrusted = "untrusted"

var (
	sandboxes = []string{"read-only", workspace, fullAccess} // by what they allow, least first
	plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:/-]*$`)
)

// refuses returns why the turn's permissions cannot be given to a headless run, or "". A run never gets
// more than the session had: without a named sandbox it would use the current configuration.
func refuses(t rollout.Turn) string {
	switch mode := t.Sandbox.Name(); {
	case mode == "":
		return "the transcript does not say which sandbox the session ran in"
	case t.Policy() == untrusted:
		return "the session asks before it runs commands (approval policy untrusted), and a run without a terminal would not"
	case t.Profile.Own():
		if !plainName.MatchString(t.Profile.ID) {
			return "the session ran with the permission profile " + strconv.Quote(t.Profile.ID) + ", which codex exec cannot be given"
		}
		return ""
	case !slices.Contains(sandboxes, mode):
		return "the session ran in the sandbox " + strconv.Quote(mode) + ", which codex exec cannot be given"
	default:
		return ""
	}
}

// flagsOf returns the arguments that give a run these settings: it inherits none of them from the
// session. Unknown values are omitted.
func flagsOf(t rollout.Turn, provider string) []string {
	flags := sandboxFlags(t.Sandbox)
	if t.Profile.Own() {
		// A sandbox could only describe it too widely. Codex refuses to run if the profile no longer
		// exists.
		flags = []string{"-c", override("default_permissions", t.Profile.ID)}
	}
	flags = append(flags, review(t)...)
	if plainName.MatchString(t.Model) {
		flags = append(flags, "-m", t.Model)
	}
	if plainName.MatchString(provider) {
		flags = append(flags, "-c", override("model_provider", provider))
	}
	if plainName.MatchString(t.Effort) {
		flags = append(flags, "-c", override("model_reasoning_effort", t.Effort))
	}
	return flags
}

// review returns the arguments that say who decides whether a command may leave the sandbox. A run
// without a terminal asks no person, but Codex itself may review instead: this is never left to the
// configuration.
func review(t rollout.Turn) []string {
	const key, byCodex = "approvals_reviewer", "auto_review"
	switch {
	case t.Reviewer == "":
		return nil // an old version without reviewer
	case t.Reviewer == byCodex && t.Policy() == "on-request":
		return []string{"-c", override(key, byCodex), "-c", override("approval_policy", t.Policy())}
	default:
		return []string{"-c", override(key, "user")}
	}
}

// sandboxFlags names everything that the sandbox allows, so that the configuration cannot add to it.
func sandboxFlags(s rollout.Sandbox) []string {
	flags := []string{"-s", s.Name()}
	if s.Name() != workspace {
		return flags
	}
	const table = "sandbox_workspace_write."
	return append(flags,
		"-c", override(table+"network_access", s.Network),
		"-c", override(table+"writable_roots", append([]string{}, s.Roots...)),
		"-c", override(table+"exclude_tmpdir_env_var", s.NoEnv),
		"-c", override(table+"exclude_slash_tmp", s.NoTmp),
	)
}

// override returns KEY=VALUE for the configuration. Codex parses the value as TOML. JSON strings,
// booleans and lists of strings are valid TOML.
func override(key string, value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // cannot fail in memory
	return key + "=" + strings.TrimSpace(b.String())
}
