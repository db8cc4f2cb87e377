// Package gemini interprets output of Gemini CLI outside of its chats: of a run, in the report of a failure, to hooks.
package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/gemini"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader interprets output of Gemini CLI.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Note: note, Read: read}

func begins(line []byte) (is, known bool) {
	is = room.IsHeader(line)
	return is, is
}

const onlyExec = "a run without a terminal that fails leaves no record of why; only `resumed exec` can see that and continue it"

// note returns what the chat cannot contain, depending on its last event.
func note(chat string, last resume.Event) string {
	switch _, prompted := last.(resume.Prompted); {
	case last == nil:
		return "the file holds no conversation"
	case prompted && room.Lost(chat):
		return "the last prompt was taken back unanswered: " + onlyExec
	case prompted:
		return "the last prompt has no answer: it is being worked on, or its run was killed or waits at a dialog; " + onlyExec
	default:
		return ""
	}
}

// printed is one record of a run in JSON, of the report of a failure, or of the input of a hook.
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

// kind returns what the recording of such a record is; "": not only Gemini CLI prints such records.
func (p printed) kind() string {
	named := room.IsID(p.SessionID)
	switch {
	case p.Error != nil && strings.Contains(p.Error.Stack, "/gemini-cli/"):
		return "the report of a failure"
	case p.Hook != "" && named && strings.Contains(p.Transcript, "/chats/session-"):
		return recording.HookCalls
	case p.Hook != "":
		return ""
	case p.Type == "init" && named && p.Model != "",
		p.Type == "result" && p.Status != "" && len(p.Stats) > 0 && p.Timestamp != "",
		p.Type == "" && named && (p.Response != nil || p.Error != nil):
		return recording.RunOutput
	default:
		return ""
	}
}

// read interprets the output of a run, the report of a failure, or the input of hooks.
func read(limits limit.Reader, rec headless.Recording, named bool) (recording.Report, bool) {
	known := ""
	if named {
		known = recording.RunOutput
	}
	told, kind := streams(limits, rec, known)
	if m := plainError().FindStringSubmatchIndex(rec.Text); named && told.Event == nil && m != nil {
		event := refuse(limits, limit.Refusal{Text: rec.Text[m[2]:m[3]]})
		told = recording.Told{Event: event, Line: recording.LineOf(rec.Text, m[2])}
	}
	return recording.Of(kind, told), kind != "" && (!named || told.Event != nil)
}

// plainError is the end of a failed run's plain text: these lines contain nothing else, and only advice follows.
var plainError = lazy.Regexp(`(?:^|\n)(\[API Error: [^\n]*(?:\n[^\n]+){0,3}?\])(?:\nPlease [^\n]+){0,2}\s*$`)

// streams reads both streams of a run, and returns what they are; "" if they are not from Gemini CLI. If the first one
// says how the run ended, the other one only adds the session. kind is their known kind, or "".
func streams(limits limit.Reader, rec headless.Recording, kind string) (recording.Told, string) {
	limits.At = reportedAt(rec)
	first := stream{limits: limits, kind: kind}
	first.read(rec.Text)
	other := stream{limits: first.limits, kind: kind}
	other.read(rec.Beside)
	told := first.told
	told.Session = cmp.Or(told.Session, other.told.Session)
	_, refused := told.Event.(resume.Limited)
	if !first.over && other.told.Event != nil && (other.over || !refused) {
		told.Event, told.Line, told.Beside = other.told.Event, other.told.Line, true
	}
	return told, cmp.Or(first.kind, other.kind)
}

type stream struct {
	limits limit.Reader // At is the time of the last record that has one
	kind   string       // of the recording; empty until a record of Gemini CLI was read
	over   bool         // it said how the run ended
	error  string       // the message of a failure before the end
	told   recording.Told
}

func (s *stream) read(text string) {
	s.told = recording.Follow(text, func(p printed) recording.Told {
		if s.kind = cmp.Or(s.kind, p.kind()); s.kind == "" {
			return recording.Told{}
		}
		s.limits.At = agent.Written(p.Timestamp, s.limits.At)
		if !room.IsID(p.SessionID) {
			p.SessionID = ""
		}
		return recording.Told{Session: p.SessionID, Cwd: p.Cwd, Event: s.event(p)}
	})
	if !s.over {
		s.complaints(text)
	}
}

func (s *stream) event(p printed) resume.Event {
	switch {
	case p.Type == "message" && p.Role == "user", p.Hook == "BeforeAgent":
		return resume.Prompted{At: s.limits.At}
	case p.Type == "message", p.Type == "tool_use", p.Hook == "AfterAgent":
		return resume.Progressed{At: s.limits.At}
	case p.Type == "error":
		s.error = p.Message
		return nil
	case p.Type == "result" && p.Status == "error" && p.Error == nil:
		s.over = true
		return refuse(s.limits, limit.Refusal{Text: s.error})
	case p.Type == "result" && p.Status == "error", p.Type == "" && p.Error != nil:
		s.over = true
		return refuse(s.limits, limit.Refusal{Status: p.Error.Code, Text: p.Error.Message})
	case p.Type == "result", p.Response != nil:
		s.over = true
		return resume.Progressed{At: s.limits.At}
	default:
		return nil
	}
}

// apiError is the beginning of a failure message, in chats too.
const apiError = "[API Error"

func refuse(limits limit.Reader, refusal limit.Refusal) resume.Limited {
	text := refusal.Text
	if !strings.HasPrefix(text, apiError) {
		refusal.Text = apiError + ": " + text + "]"
	}
	return recording.Refused(limits.At, room.Verdict(limits, refusal), text)
}

var (
	attempt  = lazy.Regexp(`^Attempt \d+ failed(?: with status (\d{3}))?[:.] (.*)$`)
	tryAgain = lazy.Regexp(`Retrying (?:after|with backoff)`)

	// gaveUp begins the last message of a failed run; the file name of the report contains the time.
	gaveUp = lazy.Regexp(`(?m)^Error when talking to Gemini API .*-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-\d{3}Z\.json (?:\w+: )?(.*)$`)

	detail = lazy.Regexp(`^ +(status|code|reason): '?(\w+)'?,?$`)
)

// reportedAt returns when a run failed, by the file name of its report, else when the recording was written.
func reportedAt(rec headless.Recording) time.Time {
	if m := gaveUp().FindStringSubmatch(rec.Text + "\n" + rec.Beside); m != nil {
		if when, err := time.Parse("2006-01-02T15-04-05", m[1]); err == nil {
			return when
		}
	}
	return rec.At
}

// complaints reads the messages for people on the standard error of a run.
func (s *stream) complaints(text string) {
	lines := strings.Split(text, "\n")
	for n := 0; n < len(lines); n++ {
		tried, failed := attempt().FindStringSubmatch(lines[n]), gaveUp().FindStringSubmatch(lines[n])
		var event resume.Limited
		begin, end := n, n+1
		switch {
		case failed != nil:
			for end < len(lines) && lines[end] != "}" && lines[end] != "" && !attempt().MatchString(lines[end]) {
				end++
			}
			event = s.failed(failed[2], lines[n+1:end])
		case tried != nil:
			if end < len(lines) && !tryAgain().MatchString(lines[n]) && tryAgain().MatchString(lines[end]) {
				end++ // the provider's message has two lines
			}
			// Gemini CLI retries by itself. It prints how long it waits, but not since when.
			status, _ := strconv.Atoi(tried[1]) // 0 if there is none
			event = refuse(s.limits, limit.Refusal{Status: status, Text: strings.Join(append([]string{tried[2]}, lines[n+1:end]...), "\n")})
			event.InProgress, event.Reset = true, limit.Reset{}
		default:
			continue
		}
		s.kind = cmp.Or(s.kind, recording.RunOutput)
		s.told.Event, s.told.Line = event, begin+1
		n = end - 1
	}
}

// failed returns the event of the failure that ended a run, from its message and details.
func (s *stream) failed(text string, details []string) resume.Limited {
	s.over = true
	refusal := limit.Refusal{Text: text}
	for _, line := range details {
		m := detail().FindStringSubmatch(line)
		switch {
		case m == nil && !strings.HasPrefix(line, " "):
			refusal.Text += "\n" + line
		case m != nil && m[1] == "reason" && m[2] != "undefined":
			refusal.Code = m[2]
		case m != nil && m[1] != "reason" && refusal.Status == 0:
			refusal.Status, _ = strconv.Atoi(m[2]) // or the name of a system error
		}
	}
	return refuse(s.limits, refusal)
}
