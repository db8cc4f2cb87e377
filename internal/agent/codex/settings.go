package codex

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent/codex/rollout"
)

// fullAccess is the sandbox that is none. What a session in it does nobody is
// asked about: a run without a terminal never asks.
const fullAccess = "danger-full-access"

// workspace is the sandbox that lets a session write in its directory.
const workspace = "workspace-write"

// untrusted is the policy by which a person is asked before commands run.
const untrusted = "untrusted"

var (
	sandboxes = []string{"read-only", workspace, fullAccess} // by what they allow, least first
	plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:/-]*$`)
)

// refuses returns why the turn's permissions cannot be given to a headless run,
// or nothing. A run is never given more than the session had: without a sandbox
// that is named, it would take what the configuration says by now.
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

// flagsOf returns the arguments that give a run these settings: it would take
// none of them over from the session. What is not known is left out.
func flagsOf(t rollout.Turn, provider string) []string {
	flags := sandboxFlags(t.Sandbox)
	if t.Profile.Own() {
		// What a sandbox could say of it is wider. Codex refuses to run where
		// the profile is not there any more.
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

// review returns the arguments that say who is asked whether a command may leave
// the sandbox. A run without a terminal asks no person, unless Codex itself reviews
// what it would ask a person: that is never taken from the configuration.
func review(t rollout.Turn) []string {
	const key, byCodex = "approvals_reviewer", "auto_review"
	switch {
	case t.Reviewer == "":
		return nil // an old version, which has none
	case t.Reviewer == byCodex && t.Policy() == "on-request":
		return []string{"-c", override(key, byCodex), "-c", override("approval_policy", t.Policy())}
	default:
		return []string{"-c", override(key, "user")}
	}
}

// sandboxFlags names all that the sandbox allows, so that the configuration cannot add
// to it.
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

// override returns KEY=VALUE of the configuration. Codex reads the value as
// TOML, and the JSON of a name, a truth or a list of names is TOML as well.
func override(key string, value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // into memory
	return key + "=" + strings.TrimSpace(b.String())
}
