package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Plan continues the session by a headless run, in the directory and with the settings of its last turn.
func (a *Agent) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	readable, remove, err := rollout.Readable(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	defer remove()
	read := s
	read.Transcript = readable
	if plan, still, err := a.stillStopped(ctx, read); !still {
		return plan, err
	}
	owner, err := a.Owner(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if owner != nil {
		// Codex refuses a second writer, and in old versions the turns would interleave.
		return agent.SkipPlan(fmt.Sprintf("process %d (%s) holds the session", owner.PID, owner.Kind)), nil
	}
	if plan, waits, err := a.waits(ctx, s); waits {
		return plan, err
	}
	return a.run(ctx, s, readable, prompt)
}

func (a *Agent) stillStopped(ctx context.Context, s resume.Session) (otherwise agent.Plan, still bool, err error) {
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), false, nil
	}
	_, otherwise, still, err = agent.StillStopped(ctx, a, s)
	return otherwise, still, err
}

func (a *Agent) run(ctx context.Context, s resume.Session, readable string, prompt string) (agent.Plan, error) {
	had, _, err := rollout.LastTurn(ctx, readable)
	if err != nil {
		return agent.Plan{}, err
	}
	cwd := cmp.Or(had.Cwd, s.Cwd)
	h, _ := a.reader.Head(readable)
	carried, seen := a.carry(s, h, had)
	var left []leash.Omission
	if seen {
		had, left = a.within(had, s)
	}
	if why := refuses(had); why != "" {
		return agent.Parked("%s", why), nil
	}
	carried.LeftOut = append(carried.LeftOut, left...)
	// If a key is set twice the last one counts: that of the last turn.
	args := slices.Concat([]string{execCommand, "-C", cwd}, carried.Args, flagsOf(had, h.Provider))
	if !inRepository(cwd) {
		// Codex would refuse to begin there without this flag, and the session did begin.
		args = append(args, "--skip-git-repo-check")
	}
	plan := a.Run(s, cwd, carried, leash.WithPrompt(append(args, "resume", s.Key.ID), prompt)...)
	if plan.Run != nil {
		if !seen && had.Sandbox.Name() == fullAccess {
			plan.Run.Unproven = "it runs without a sandbox, and what drove it may have restricted it"
		}
		plan.Run.AskMode = had.Sandbox.Name() != fullAccess && !had.Profile.Own()
		plan.Run.Permission = a.permission(had)
		plan.Run.Optional = a.spare(s, h)
		if o := s.StartedWith(); h.Kind() == resume.Interactive && (o == nil || !byExec(o.Args)) {
			plan.Run.Unset = []string{execKey} // the terminal ignored it
		}
	}
	return plan, nil
}

// Codex's own sandbox leaves empty .git directories behind, for example in /tmp.
func inRepository(dir string) bool {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil && info.Mode().IsRegular() {
			return true
		}
		if _, err := os.Stat(filepath.Join(git, "HEAD")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

var _ agent.IDPrinter = (*Agent)(nil)

// Start returns the command that begins the session of a task.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	return a.Open(task, agent.Opening{
		Args: []string{execCommand, "-C", task.Cwd}, Mode: "--sandbox", Modes: []string{"read-only", "workspace-write", "danger-full-access"},
		Say: func(args []string, prompt string) []string {
			if prompt == "-" {
				prompt += " " // alone it means the standard input
			}
			return append(args, "--", prompt) // it may be the name of a command, such as review
		},
	}), nil
}

// ParseSessionID returns the id that Codex prints before any output of the model.
func (a *Agent) ParseSessionID(printed string) string {
	if banner := bannerID().FindStringSubmatch(printed); banner != nil {
		return banner[1]
	}
	return ""
}

// fullAccess means no sandbox: a run without a terminal never asks.
const fullAccess = "danger-full-access"

// workspace is the sandbox that allows a session to write in its directory.
const workspace = "workspace-write"

// untrusted is the policy that asks a person before commands run.
const untrusted = "untrusted"

var (
	sandboxes = []string{"read-only", workspace, fullAccess} // by what they allow, least first
	plainName = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._:/-]*$`)
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
		if !plainName().MatchString(t.Profile.ID) {
			return "the session ran with the permission profile " + strconv.Quote(t.Profile.ID) + ", which codex exec cannot be given"
		}
		return ""
	case !slices.Contains(sandboxes, mode):
		return "the session ran in the sandbox " + strconv.Quote(mode) + ", which codex exec cannot be given"
	default:
		return ""
	}
}

// flagsOf: a run inherits none of these settings from the session. Unknown values are omitted.
func flagsOf(t rollout.Turn, provider string) []string {
	flags := sandboxFlags(t.Sandbox)
	if t.Profile.Own() {
		// A sandbox could only describe it too widely. Codex refuses to run if the profile no longer
		// exists.
		flags = []string{"-c", override("default_permissions", t.Profile.ID)}
	}
	flags = append(flags, review(t)...)
	if plainName().MatchString(t.Model) {
		flags = append(flags, "-m", t.Model)
	}
	if plainName().MatchString(provider) {
		flags = append(flags, "-c", override("model_provider", provider))
	}
	if plainName().MatchString(t.Effort) {
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

// override returns KEY=VALUE in TOML, of which JSON strings, booleans and lists of strings are a part.
func override(key string, value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // cannot fail in memory
	return key + "=" + strings.TrimSpace(b.String())
}

// carry returns which flags of its start the session is continued with, except those that its last
// turn replaces. seen is false if a program that drives the session may have restricted it by other
// means than flags.
func (a *Agent) carry(s resume.Session, h rollout.Head, had rollout.Turn) (carried leash.Repeated, seen bool) {
	o := s.StartedWith()
	if o == nil {
		return leash.Repeated{}, false
	}
	carried = flags.Carry(*o, newer(had)...)
	line := flags.Parse(o.Args)
	if line.Has(searchFlag) && !byExec(o.Args) {
		carried.Args = append(carried.Args, "-c", override("web_search", "live")) // as in the terminal
	}
	return carried, o.ArgsSeen && (h.Kind() == resume.Interactive || !line.Has(managedDaemon))
}

func newer(t rollout.Turn) []string {
	told := []string{"-C", "--cd", searchFlag}
	if plainName().MatchString(t.Model) {
		told = append(told, "-m", "--model")
	}
	if !t.Profile.Own() {
		told = append(told, "--add-dir") // its value is in the sandbox's writable roots
	}
	return told
}

// confined returns the turn in another sandbox, which allows no more than its name says.
func confined(t rollout.Turn, sandbox, why string) (rollout.Turn, []leash.Omission) {
	what := t.Sandbox.Name()
	t.Sandbox, t.Profile, t.Reviewer = rollout.Sandbox{Type: sandbox}, rollout.Profile{}, "user"
	if sandbox == workspace {
		sandbox += " without network"
	}
	return t, []leash.Omission{{What: what, Why: why + ": continued in " + sandbox}}
}

// within: a turn can narrow what the start allowed, never widen it.
func (a *Agent) within(t rollout.Turn, s resume.Session) (_ rollout.Turn, left []leash.Omission) {
	o := s.StartedWith()
	line := flags.Parse(o.Args)
	if startedBy(line, "approval_policy", "-a", "--ask-for-approval") == untrusted {
		t.Approval = json.RawMessage(`"` + untrusted + `"`)
	}
	if most := a.startedIn(line, s, o.Cwd); slices.Index(sandboxes, t.Sandbox.Name()) > slices.Index(sandboxes, most) {
		return confined(t, most, "the session was started with less")
	}
	return t, nil
}

// startedIn returns the sandbox in the flags of a session. Without one, it is what the configuration
// allows. For the server that terminals share it is not known: then it is full access.
func (a *Agent) startedIn(line leash.Arguments, s resume.Session, dir string) string {
	named := startedBy(line, "sandbox_mode", "-s", "--sandbox")
	switch {
	case line.Has("--yolo", "--dangerously-bypass-approvals-and-sandbox"):
		return fullAccess
	case slices.Contains(sandboxes, named):
		return named
	case line.Has(managedDaemon) || a.StartMode(s, dir) == fullAccess:
		return fullAccess
	default:
		return workspace
	}
}

// permission is what a turn may do without asking.
func (a *Agent) permission(t rollout.Turn) resume.Permission {
	if t.Profile.Own() {
		return resume.Permission{Mode: "the permission profile " + t.Profile.ID}
	}
	p := resume.Permission{Mode: t.Sandbox.Name(), Rank: a.Rank(t.Sandbox.Name())}
	if p.Mode == workspace {
		if t.Sandbox.Network {
			p.More = append(p.More, "with network")
		}
		for _, root := range t.Sandbox.Roots {
			p.More = append(p.More, "writing in "+root)
		}
	}
	if t.Reviewer != "" && t.Reviewer != "user" {
		p.More = append(p.More, "reviewed by "+t.Reviewer)
	}
	return p
}

func startedBy(line leash.Arguments, key string, options ...string) string {
	said := line.Value(options...)
	for _, setting := range line.Values("-c", "--config") {
		if name, value := pair(setting); name == key && !line.Has(options...) {
			said = strings.Trim(value, `"'`)
		}
	}
	return said
}

// severally are the flags that may be repeated: of the others the last counts, and Codex refuses two.
var severally = []string{"-c", "--config", "--enable", "--disable", "--add-dir"}

func lastOnly(args []string) []string {
	words := flags.Words(args)
	long := func(w leash.Word) string {
		if w.Option == "-p" {
			return "--profile"
		}
		return w.Option
	}
	kept := flags.Parse(args).Plain()
	for i, w := range words {
		again := func(later leash.Word) bool { return long(later) == long(w) }
		if slices.Contains(severally, w.Option) || !slices.ContainsFunc(words[i+1:], again) {
			kept = append(kept, w.Raw...)
		}
	}
	return kept
}
