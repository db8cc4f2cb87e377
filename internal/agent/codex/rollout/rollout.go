// Package rollout parses the rollouts of Codex: the meaning of a line, the settings of a turn, and the
// state of the account's limits.
package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets lines of rollouts, and caches some results. Only LimitsAt must be set.
type Reader struct {
	// LimitsAt returns a reader for limits that were stated at that time.
	LimitsAt func(time.Time) limit.Reader

	heads   lines.Cache[Head]
	parents lines.Cache[map[string]string] // per directory of a day: the thread that each rollout in it works for
	dirs    lines.Latest[string]           // of the turns
}

var rolloutPath = lazy.Regexp(`^\d{4}/\d\d/\d\d/rollout-[^/]+\.jsonl$`)

// Match accepts rollouts, which are in one directory per day.
func Match(rel string) bool { return rolloutPath().MatchString(filepath.ToSlash(rel)) }

// Head returns the first record of a rollout, or false if it cannot be read.
func (rd *Reader) Head(path string) (Head, bool) { return rd.headBefore(lines.Line{Path: path}) }

func (rd *Reader) headBefore(line lines.Line) (Head, bool) {
	if h, ok := rd.heads.Get(line.Path); ok {
		return h, true
	}
	h, ok := firstRecord(line)
	if ok {
		rd.heads.Put(line.Path, h)
	}
	return h, ok
}

func firstRecord(line lines.Line) (Head, bool) {
	var first struct {
		Type    string `json:"type"`
		Payload Head   `json:"payload"`
	}
	if !lines.Decode(line.First(), &first) || first.Type != "session_meta" {
		return Head{}, false
	}
	return first.Payload, true
}

// Read returns what a line of a rollout means for its session. Retries within a turn are not written,
// and a turn without an end may last for hours, so silence means nothing.
func (rd *Reader) Read(line lines.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok {
		return o, false
	}
	h, _ := rd.headBefore(line)
	if h.Delegated() {
		_, failed := r.failed()
		o.Key.ID, o.Event = h.parent(), resume.SubagentEnded{At: r.at(line.ModTime)}
		return o, o.Key.ID != "" && (failed || r.kind() == "task_complete")
	}
	if o.Event, ok = rd.event(h, r, line); !ok {
		return o, false
	}
	o.Key.ID = h.sessionID(line.Path)
	o.Provider, o.Cwd, o.Kind, o.App = h.provider(), rd.cwd(h, line), h.Kind(), h.App()
	return o, true
}

func (rd *Reader) event(h Head, r record, line lines.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	if at.IsZero() {
		return nil, false
	}
	reader := rd.LimitsAt(at)
	if f, ok := r.failed(); ok {
		limits := func() rateLimits { return limitsBefore(line) }
		return resume.Limited{At: at, Verdict: f.verdict(reader, limits), Text: agent.Clip(f.Message)}, true
	}
	switch {
	case r.moved(), r.kind() == "task_complete" && r.Payload.Answer != "":
		return resume.Progressed{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	case r.interrupts():
		return resume.Cancelled{At: at}, true
	case h.silent(r):
		return silentLimit(r, line, reader)
	default:
		return nil, false
	}
}

// silentLimit detects a usage limit in versions that do not write why a turn failed: the turn has no
// answer, and an allowance was used up at its end. The oldest versions do not even write the end of a
// turn: there the last record of a request is the state of the limits.
func silentLimit(r record, line lines.Line, reader limit.Reader) (resume.Event, bool) {
	var limits rateLimits
	switch {
	case r.kind() == "task_complete":
		limits = limitsBefore(line)
	case r.kind() == tokenCount && followsTurnContext(line):
		limits = r.Payload.Limits
	}
	reset, ok := limits.exhausted()
	if !ok {
		return nil, false
	}
	v := limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: reset, Source: limit.Structured}}
	if limits.mustBuy(reader) {
		v.Class, v.WaitHelps = limit.Billing, false
	}
	return resume.Limited{At: reader.At, Verdict: v, Text: "the turn ended without an answer, and the account's allowance is used up"}, true
}

// packedSuffix: Codex compresses rollouts that were silent for a week, and unpacks them to continue.
const packedSuffix = ".zst"

// MatchPacked accepts compressed rollouts.
func MatchPacked(rel string) bool {
	plain := rel[:max(0, len(rel)-len(packedSuffix))]
	return plain+packedSuffix == rel && Match(plain)
}

const maxUnpacked = 2 << 30

// Readable returns the rollout, or a temporary copy if Codex has compressed it. remove removes the copy.
// The path may be that of the compressed file.
func Readable(ctx context.Context, path string) (readable string, remove func(), err error) {
	plain, isPacked := strings.CutSuffix(path, packedSuffix)
	packed, remove := plain+packedSuffix, func() {}
	if _, err := os.Lstat(path); err == nil && !isPacked {
		return path, remove, nil
	}
	if info, err := os.Lstat(packed); err != nil || !info.Mode().IsRegular() {
		return path, remove, nil // it is gone
	}
	dir, err := os.MkdirTemp("", "resumed-rollout-")
	if err != nil {
		return "", remove, fmt.Errorf("unpack %s: %w", packed, err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // the directory of temporary files is emptied anyway
	readable = filepath.Join(dir, filepath.Base(plain))
	if err := unpack(ctx, packed, readable); err != nil {
		remove()
		return "", func() {}, fmt.Errorf("unpack %s: %w", packed, err)
	}
	return readable, remove, nil
}

func unpack(ctx context.Context, packed, to string) error {
	in, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer in.Close()
	defer context.AfterFunc(ctx, func() { _ = in.Close() })() // ends the copying
	reader, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer reader.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(reader, maxUnpacked))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil && n == maxUnpacked {
		err = fmt.Errorf("it is longer than %d bytes", maxUnpacked)
	}
	return cmp.Or(ctx.Err(), err)
}

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

// Delegated reports whether the thread works for another one, or for Codex itself: it is not continued separately.
func (h Head) Delegated() bool {
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
