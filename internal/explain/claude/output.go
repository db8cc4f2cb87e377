// Package claude interprets output of Claude Code outside of its transcripts: of a run, to a hook, on a screen.
package claude

import (
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/claude"
	"resumed/internal/agent/claude/screen"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader interprets output of Claude Code.
var Reader = recording.Reader{Name: room.Name, Begins: begins, GoesOn: transcript.GoesOn, Read: read}

// begins recognises a record of a transcript. Records of other agents have other fields.
func begins(line []byte) (is, known bool) {
	var r struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionId"`
		UUID      string `json:"uuid"`
		Version   string `json:"version"`
		Message   struct {
			Parts json.RawMessage `json:"parts"`
		} `json:"message"`
		Payload json.RawMessage `json:"systemPayload"`
	}
	if json.Unmarshal(line, &r) != nil || !agent.IsUUID(r.SessionID) {
		return false, false
	}
	switch r.Type {
	case "user", "assistant", "system", "attachment":
		return r.Message.Parts == nil && r.Payload == nil, agent.IsUUID(r.UUID) && r.Version != ""
	case "queue-operation", "mode", "permission-mode":
		return true, true
	default:
		return false, false
	}
}

// printed is one record of Claude Code's output for programs: on the standard output of a run with --output-format
// json or stream-json, or to a hook. It resembles a record of a transcript, with other field names.
type printed struct {
	Type      string             `json:"type"`
	Subtype   string             `json:"subtype"`
	SessionID string             `json:"session_id"`
	Cwd       string             `json:"cwd"`
	Timestamp string             `json:"timestamp"`
	Parent    string             `json:"parent_tool_use_id"` // of output of a subagent
	Message   transcript.Message `json:"message"`
	Mode      string             `json:"permissionMode"` // of the first record of a run
	RateLimit transcript.Quota   `json:"rate_limit_info"`
	IsError   bool               `json:"is_error"`
	Result    string             `json:"result"`
	Terminal  string             `json:"terminal_reason"`
	Turns     int                `json:"num_turns"`
	Cost      *float64           `json:"total_cost_usd"`
	Retry     int                `json:"error_status"` // of a request that is retried
	Failed    bool               `json:"is_api_error_message"`
	Error     string             `json:"error"`
	APIError  string             `json:"api_error"`
	Status    int                `json:"api_error_status"`
	ErrorType string             `json:"api_error_type"`
	Params    struct {
		RateLimit transcript.Quota `json:"rate_limit_info"`
	} `json:"api_error_params"`

	Hook       string `json:"hook_event_name"`
	Transcript string `json:"transcript_path"`
	Answer     string `json:"last_assistant_message"`
}

// isOurs reports whether only Claude Code prints such a record. Its forks print records of the same types.
func (p printed) isOurs() bool {
	if !agent.IsUUID(p.SessionID) {
		return false
	}
	switch p.Type {
	case "system":
		return p.Mode != "" || p.Subtype == "api_retry"
	case "assistant":
		return p.Message.Model == transcript.Synthetic || strings.HasPrefix(p.Message.Model, "claude-")
	case "result":
		return p.Cost != nil
	case "rate_limit_event":
		return true
	default:
		return p.isHook()
	}
}

func (p printed) isHook() bool {
	return p.Hook != "" && strings.Contains(p.Transcript, "/projects/") && strings.HasSuffix(p.Transcript, p.SessionID+".jsonl")
}

type run struct {
	limits limit.Reader // At is the time of the last record that has one
	exact  bool         // At is the exact time
	ours   bool
	hooks  bool
	quota  transcript.Quota // of the last refusal
	last   resume.Event
}

// read interprets the output of a run in print mode, the input of a hook, or a screen.
func read(limits limit.Reader, rec headless.Recording, named bool) (recording.Report, bool) {
	var r run
	told, ok := recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		r = run{limits: limits, exact: rec.Exact}
		told := recording.Follow(text, r.read)
		return told, r.ours || told.Event != nil
	})
	switch {
	case r.ours && r.hooks:
		return recording.Of(recording.HookCalls, told), true
	case r.ours || named && ok:
		return recording.Of(recording.RunOutput, told), true
	}
	told, ok = shown(limits, rec)
	return recording.Of(recording.Screen, told), ok
}

func (r *run) read(p printed) recording.Told {
	r.ours = r.ours || p.isOurs()
	r.hooks = r.hooks || p.isHook()
	if p.Parent != "" {
		return recording.Told{} // from a subagent: the run continues without it
	}
	if at, err := time.Parse(time.RFC3339, p.Timestamp); err == nil {
		r.limits.At, r.exact = at, true
	}
	if p.RateLimit.Status == "rejected" {
		r.quota = p.RateLimit
	}
	event := r.event(p)
	if event != nil {
		r.last = event
	}
	return recording.Told{Session: recording.ID(p.SessionID), Cwd: p.Cwd, Event: event}
}

func (r *run) event(p printed) resume.Event {
	failed, _ := r.last.(resume.Limited)
	hasFailed := failed.Class != limit.None && !failed.InProgress
	switch {
	case p.isHook():
		return r.hook(p)
	case p.Type == "system" && p.Subtype == "init" && !hasFailed:
		return resume.Prompted{At: r.limits.At}
	case p.Type == "system" && p.Subtype == "api_retry":
		return r.retried(p)
	case p.Type == "assistant" && p.Failed:
		return r.failed(p, p.Message.Text())
	case p.Type == "assistant" && p.Message.FromModel():
		return resume.Progressed{At: r.limits.At}
	case p.Type == "user" && p.Message.Interrupts(), p.Type == "result" && strings.HasPrefix(p.Terminal, "aborted"):
		return resume.Cancelled{At: r.limits.At}
	case p.Type != "result", hasFailed && (p.Result == failed.Text || p.Turns == 0):
		return nil // the answer to a subagent's notice follows the failure
	case p.IsError && !strings.HasPrefix(p.Subtype, "error_max_"):
		return r.failed(p, p.Result)
	default:
		return resume.Progressed{At: r.limits.At}
	}
}

func (r *run) hook(p printed) resume.Event {
	switch p.Hook {
	case "StopFailure":
		return r.failed(p, p.Answer)
	case "Stop":
		return resume.Progressed{At: r.limits.At}
	case "UserPromptSubmit":
		return resume.Prompted{At: r.limits.At}
	default:
		return nil
	}
}

func (r *run) failed(p printed, text string) resume.Event {
	refusal := transcript.Refusal{Text: text, Error: p.Error, APIError: p.APIError, Status: p.Status, ErrorType: p.ErrorType, Quota: r.quota}
	if p.Params.RateLimit.Stated() {
		refusal.Quota = p.Params.RateLimit
	}
	v := refusal.Verdict(r.limits)
	if at, ok := r.quota.Reset(); ok && v.Class == limit.UsageLimit {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	// The reset of a recording that was copied after the reset: a window of five hours ends within five hours, so a clock
	// time that is further away has already passed.
	if !r.exact && v.Reset.Rough && shortWindow().MatchString(text) && v.Reset.At.Sub(r.limits.At) > window {
		v.Reset.At = v.Reset.At.AddDate(0, 0, -1)
	}
	return recording.Refused(r.limits.At, v, text)
}

var (
	shortWindow = lazy.Regexp(`(?i)\b(?:5-hour|session) limit\b`)
	window      = 5*time.Hour + 10*time.Minute
)

func (r *run) retried(p printed) resume.Event {
	v := r.limits.Refusal(limit.Refusal{Status: p.Retry, Code: p.Error})
	if v.Class == limit.None || v.Class == limit.Unknown {
		v.Class = limit.Network // there was no answer
	}
	v.WaitHelps, v.InProgress = true, true
	return recording.Refused(r.limits.At, v, "retrying: "+p.Error)
}

// If no prompt can be typed, a screen does not show a turn: Claude Code asks something, or has ended.
func shown(limits limit.Reader, rec headless.Recording) (recording.Told, bool) {
	s := screen.Read(rec.Text)
	if !s.Known() && !namesItself().MatchString(rec.Text) {
		return recording.Told{}, false
	}
	if !s.Known() {
		return unprompted(limits, rec), true
	}
	told := recording.Told{Working: s.Works()}
	if m := directory().FindStringSubmatch(rec.Text); m != nil {
		told.Cwd = m[1]
	}
	limits.At = shownAt(limits.Zone, rec)
	for _, b := range blocksOf(s.Above) {
		if event := shownEvent(b, limits); event != nil {
			told.Event, told.Line = event, b.Line
		}
	}
	if told.Working {
		told.Event, told.Line = resume.Progressed{At: limits.At}, 0
	}
	if l, ok := told.Event.(resume.Limited); ok && s.Waits() {
		l.InProgress = true
		told.Event = l
	}
	return told, true
}

var (
	// namesItself is what Claude Code shows if there is no prompt.
	namesItself = lazy.Regexp(`(?m)^(?:Welcome to | ?\S{4,} +|╭─+ )Claude Code v\d|Claude Code'll be able to|ANTHROPIC_API_KEY: |^claude .*--resume [0-9a-f-]{36}$`)

	// directory is shown beside the logo at the beginning of a session.
	directory = lazy.Regexp(`(?m)^ ?▝▝   ▝▝   (/.*)$`)
)

var (
	doneAt    = lazy.Regexp(`(?m)^[✻✽✶✳✢✦·*] .* · done (\d{1,2}:\d\d [AP]M)$`)
	shownZone = lazy.Regexp(`· resets .* \(([A-Za-z_]+(?:/[A-Za-z_/+-]+)?)\)`)
)

// shownAt returns when the screen was captured, by the last clock time on it. Its zone is that of a limit's reset.
func shownAt(zone *time.Location, rec headless.Recording) time.Time {
	clocks := doneAt().FindAllStringSubmatch(rec.Text, -1)
	if len(clocks) == 0 {
		return rec.At
	}
	clock, err := time.Parse("3:04 PM", clocks[len(clocks)-1][1])
	if err != nil {
		return rec.At
	}
	if m := shownZone().FindStringSubmatch(rec.Text); m != nil {
		if named, err := time.LoadLocation(m[1]); err == nil {
			zone = named
		}
	}
	return recording.LastShown(rec, zone, clock.Hour(), clock.Minute())
}

// A first run that cannot reach its provider reports that on a screen without a prompt.
func unprompted(limits limit.Reader, rec headless.Recording) recording.Told {
	told := recording.Told{Leave: "it shows no prompt: Claude Code asks something, or has ended"}
	if m := resumeHint().FindStringSubmatch(rec.Text); m != nil {
		told.Session = m[1]
	}
	if !strings.HasPrefix(strings.TrimSpace(rec.Text), "Welcome to Claude Code") {
		return told
	}
	for i, line := range screen.Rows(rec.Text) {
		if v := limits.Text(line); v.Class != limit.None {
			told.Event, told.Line = recording.Refused(rec.At, v, strings.TrimSpace(line)), i+1
		}
	}
	return told
}

var resumeHint = lazy.Regexp(`(?m)^claude .*--resume ([0-9a-f-]{36})$`)

// signs begin each block on a screen: a prompt, output of Claude Code, the result of a tool or a turn, and progress.
var signs = lazy.Regexp(`^ *([❯●⏺⎿✻✽✶✳✢✦·*]) ?(.*)$`)

func blocksOf(lines []string) []recording.Block {
	begins := func(line string) (sign, words string) {
		if m := signs().FindStringSubmatch(line); m != nil {
			return m[1], m[2]
		}
		return "", ""
	}
	// A line that begins with a slash is a suggested command.
	goesOn := func(line string) bool {
		return strings.HasPrefix(line, "  ") && !strings.HasPrefix(strings.TrimSpace(line), "/")
	}
	return recording.Blocks(lines, begins, goesOn)
}

// shownEvent returns the event of a block, or nil if there is nothing new.
func shownEvent(b recording.Block, reader limit.Reader) resume.Event {
	text := b.Text()
	notice, declined := transcript.OnContinuation(text)
	switch {
	case b.Sign == "❯" && (text == "" || strings.HasPrefix(text, "/")):
		return nil // not a prompt for the model
	case b.Sign == "❯":
		return resume.Prompted{At: reader.At}
	case !strings.Contains("●⏺⎿", b.Sign):
		return nil
	case strings.HasPrefix(text, "Interrupted"), declined:
		return resume.Cancelled{At: reader.At}
	case notice:
		return nil // the refusal itself is above it
	}
	if v := reader.Text(text); v.Class != limit.None {
		return recording.Refused(reader.At, transcript.Refusal{Text: text}.Verdict(reader), text)
	}
	if b.Sign == "⎿" {
		return nil // the result of a tool
	}
	return resume.Progressed{At: reader.At}
}
