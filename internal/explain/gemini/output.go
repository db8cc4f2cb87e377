// Package gemini reads what Gemini CLI says elsewhere than in its chats: on the
// streams of a run, in the report of a failure, to hooks, on a screen; and the
// chats of older versions, which are not lines.
package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/gemini"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is whose files are read here.
const Name = room.Name

// Reader reads what was recorded of Gemini CLI.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// Recognises reports whether a file that begins with head is a chat of Gemini
// CLI.
func (Reader) Recognises(head []byte) bool {
	for line := range bytes.Lines(head) {
		if room.IsHeader(line) {
			return true
		}
	}
	return false
}

const onlyExec = "a run without a terminal that fails leaves no record of why; only `resumed exec` can see that and continue it"

// Note says what a chat cannot tell.
func (Reader) Note(chat string) string {
	last, lost, err := room.LastOf(chat)
	if err != nil {
		return ""
	}
	switch _, prompted := last.(resume.Prompted); {
	case last == nil:
		return "the file holds no conversation"
	case prompted && lost:
		return "the last prompt was taken back unanswered: " + onlyExec
	case prompted:
		return "the last prompt has no answer: it is being worked on, or its run was killed or waits at a dialog; " + onlyExec
	default:
		return ""
	}
}

// printed is one record of what a run prints with --output-format json or
// stream-json, of the report that a failure leaves, or of what a hook is told.
type printed struct {
	Type      string          `json:"type"`
	SessionID string          `json:"session_id"`
	Timestamp string          `json:"timestamp"`
	Role      string          `json:"role"`
	Status    string          `json:"status"`
	Message   string          `json:"message"` // of an error
	Error     *printedError   `json:"error"`
	Response  *string         `json:"response"`
	Stats     json.RawMessage `json:"stats"`
	Model     string          `json:"model"`

	Hook       string `json:"hook_event_name"`
	Transcript string `json:"transcript_path"`
	Cwd        string `json:"cwd"`
}

type printedError struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
	Stack   string `json:"stack"` // of a report
}

// isOurs reports whether nobody but Gemini CLI prints such a record.
func (p printed) isOurs() bool {
	named := room.IsID(p.SessionID)
	switch {
	case p.Error != nil && strings.Contains(p.Error.Stack, "/gemini-cli/"):
		return true
	case p.Hook != "":
		return named && strings.Contains(p.Transcript, "/chats/session-")
	case p.Type == "init":
		return named && p.Model != ""
	case p.Type == "result":
		return p.Status != "" && len(p.Stats) > 0 && p.Timestamp != ""
	case p.Type == "":
		return named && (p.Response != nil || p.Error != nil)
	default:
		return false
	}
}

// kind returns what such records are of.
func (p printed) kind() string {
	switch {
	case p.Hook != "":
		return recording.HookCalls
	case p.Error != nil && p.Error.Stack != "":
		return "the report of a failure"
	default:
		return recording.RunOutput
	}
}

// Printed says what the streams of a run without a terminal tell. What it tries
// again it says on its standard error only.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	if told, kind := r.heard(rec, recording.RunOutput); told.Event != nil && kind == recording.RunOutput {
		return told, true
	}
	if m := plainError.FindStringSubmatchIndex(rec.Text); m != nil {
		text := rec.Text[m[2]:m[3]]
		return recording.Told{Event: r.refuse(text, 0, "", rec.At), Line: strings.Count(rec.Text[:m[2]], "\n") + 1}, true
	}
	return recording.Told{}, false
}

// plainError is how a run that prints plain text tells of a failure, as its last
// words: nothing else stands in these lines, and below them only advice.
var plainError = regexp.MustCompile(`(?:^|\n)(\[API Error: [^\n]*(?:\n[^\n]+){0,3}?\])(?:\nPlease [^\n]+){0,2}\s*$`)

// heard reads both streams, and returns what they are; nothing where they are
// not Gemini CLI's. Where the first tells how the run ended, the other one only
// adds whose session it was. kind is what they are known to be, if anything.
func (r Reader) heard(rec agent.Recording, kind string) (recording.Told, string) {
	l := listener{of: r, at: reportedAt(rec), kind: kind}
	l.records(rec.Text, false)
	if !l.over {
		l.complaints(rec.Text, false)
	}
	other := listener{of: r, at: l.at, kind: kind}
	other.records(rec.Beside, true)
	if l.told.Session == "" {
		l.told.Session = other.told.Session
	}
	if l.over {
		return l.told, l.kind
	}
	if !other.over {
		other.complaints(rec.Beside, true)
	}
	if _, refused := l.told.Event.(resume.Limited); other.told.Event != nil && (other.over || !refused) {
		l.told.Event, l.told.Line, l.told.Beside = other.told.Event, other.told.Line, true
	}
	return l.told, cmp.Or(l.kind, other.kind)
}

// listener follows one run.
type listener struct {
	of    Reader
	at    time.Time
	kind  string // of the recording; empty as long as it is nobody's
	over  bool   // the run has said how it ended
	error string // what was said of a failure before its end
	told  recording.Told
}

func (l *listener) records(text string, beside bool) {
	for line, data := range agent.Records(text) {
		var p printed
		if !agent.Decode(data, &p) {
			continue
		}
		if l.kind == "" && p.isOurs() {
			l.kind = p.kind()
		}
		if l.kind == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, p.Timestamp); err == nil {
			l.at = at
		}
		if room.IsID(p.SessionID) {
			l.told.Session = p.SessionID
		}
		if p.Cwd != "" {
			l.told.Cwd = p.Cwd
		}
		if event := l.event(p); event != nil {
			l.told.Event, l.told.Line, l.told.Beside = event, line, beside
		}
	}
}

// event returns what a record says, or nil where it says nothing new.
func (l *listener) event(p printed) resume.Event {
	switch {
	case p.Type == "message" && p.Role == "user", p.Hook == "BeforeAgent":
		return resume.Prompted{At: l.at}
	case p.Type == "message", p.Type == "tool_use", p.Hook == "AfterAgent":
		return resume.Progressed{At: l.at}
	case p.Type == "error":
		l.error = p.Message
		return nil
	case p.Type == "result" && p.Status == "error", p.Type == "" && p.Error != nil:
		l.over = true
		if p.Error == nil {
			return l.of.refuse(l.error, 0, "", l.at)
		}
		return l.of.refuse(p.Error.Message, p.Error.Code, "", l.at)
	case p.Type == "result", p.Response != nil:
		l.over = true
		return resume.Progressed{At: l.at}
	default:
		return nil
	}
}

// apiError begins the words of a failure, in chats too.
const apiError = "[API Error"

// refuse is a failure that ended a run.
func (r Reader) refuse(text string, status int, code string, at time.Time) resume.Limited {
	limits := r.limits
	limits.At = at
	report := text
	if !strings.HasPrefix(text, apiError) {
		report = apiError + ": " + text + "]"
	}
	v := room.Verdict(limits, limit.Refusal{Status: status, Code: code, Text: report})
	return resume.Limited{At: at, Verdict: v, Text: agent.Clip(text)}
}

// Recorded says what a recording tells: the output of a run, the report of a
// failure, what hooks were told, the dialog of a quota, or a chat that an older
// version wrote.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	if told, ok := r.old(rec); ok {
		return recording.Report{Kind: "a chat of an older version", Told: []recording.Told{told}}, true
	}
	if told, ok := r.shown(rec); ok {
		return recording.Report{Kind: recording.Screen, Told: []recording.Told{told}}, true
	}
	told, kind := r.heard(rec, "")
	return recording.Report{Kind: kind, Told: []recording.Told{told}}, kind != ""
}
