// Package transcript reads the transcripts of Claude Code: what a line means, the settings and the
// cost of a session, and whether it continues by itself.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets lines of transcripts. Only LimitsAt must be set.
type Reader struct {
	// LimitsAt returns a reader for limits that were stated at that time.
	LimitsAt func(time.Time) limit.Reader

	notes lines.Latest[string] // of the current turns
}

// Match accepts PROJECT/SESSION.jsonl. Subagents write in deeper directories, and in 2.0 beside their
// session as agent-ID.jsonl.
func Match(rel string) bool {
	is, _ := filepath.Match("*/*.jsonl", rel) // errs on a bad pattern only
	return is && !strings.HasPrefix(filepath.Base(rel), "agent-")
}

// apps are the editors and desktop apps that run Claude Code for a person, by its entrypoint.
var apps = map[string]string{
	"claude-vscode": "VS Code", "claude-desktop": "Claude Desktop", "claude-desktop-3p": "Claude Desktop", "local-agent": "Claude Desktop",
}

// AppBy returns the editor or desktop app of a session, by its entrypoint; "": none, or not known.
func AppBy(entrypoint string) string { return apps[entrypoint] }

// KindBy returns whether a session is headless or interactive, by its entrypoint; "": not known, as
// both people's programs and scripts use the SDK. The kind in the registry is interactive for -p too.
func KindBy(entrypoint string) string {
	switch {
	case entrypoint == "cli" || AppBy(entrypoint) != "":
		return resume.Interactive
	case entrypoint == "sdk-cli":
		return resume.Headless
	default:
		return ""
	}
}

// Sift skips bookkeeping and the results of tools, which are most of a transcript's bytes. An interruption, or a note
// about the limit, may be in the same record as the result of a tool; a turn may have ended because of a limit.
func Sift(line []byte) agent.Weight {
	switch kind, known := lines.Text(line, "type"); {
	case !known, string(kind) == "user" && (!ofTool.In(line) || stops.In(line)),
		string(kind) == "assistant" && ends.In(line),
		string(kind) == "system" && informs.In(line):
		return agent.Matters
	case string(kind) == "assistant":
		return agent.Moves
	default:
		return agent.Nothing
	}
}

// interrupted begins the text that records an interruption by a person.
const interrupted = "[Request interrupted by user"

var (
	byUser  = lines.Any(`"user"`)
	ofTool  = lines.Any(`"tool_use_id"`)
	stops   = lines.Any(interrupted[1:], "LimitNote")
	ends    = lines.Any("ApiErrorMessage", `_turn"`)
	informs = lines.Any(`"informational"`)
)

// Read returns what a line of a transcript means for its session.
func (rd *Reader) Read(line lines.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return o, false
	}
	if o.Event, ok = rd.event(r, line); !ok {
		return o, false
	}
	if o.Key.ID, ok = sessionID(r, line.Path); !ok {
		return o, false
	}
	cwd, _ := FirstCwd(line)
	o.Cwd, o.Kind, o.App = cmp.Or(cwd, r.Cwd), KindBy(r.Entrypoint), AppBy(r.Entrypoint)
	return o, true
}

// event returns the event of a record of the main conversation. Records about retries
// (system/api_error) and about its own continuation (system/informational) do not end a turn, so
// they are no events, except that a person declined the continuation: no other record tells it.
func (rd *Reader) event(r record, line lines.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	if at.IsZero() {
		return nil, false
	}
	if ev, ok := rd.letEnd(r, line); ok {
		return ev, true
	}
	switch {
	case r.Type == "user" && r.IsMeta && r.Note == release:
		return resume.Progressed{At: at}, true
	case r.Type == "assistant" && r.IsAPIError:
		return resume.Limited{At: at, Verdict: r.refusal().Verdict(rd.LimitsAt(at)), Text: agent.Clip(r.Message.text())}, true
	case r.moved():
		return resume.Progressed{At: at, Model: r.Model}, true
	case r.interrupts(), r.notice() == cancelled:
		return resume.Cancelled{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	case r.endsSubagent():
		return resume.SubagentEnded{At: at}, true
	default:
		return nil, false
	}
}

var plainName = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether Claude Code may have given a session that id.
func IsID(id string) bool { return plainName().MatchString(id) }

func sessionID(r record, path string) (string, bool) {
	if agent.IsUUID(r.SessionID) {
		return r.SessionID, true
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return name, IsID(name)
}

// maxHead is how much of a file is searched for its first record with a directory.
const maxHead = 4 << 20

// FirstCwd returns the first directory in the transcript of a line: the session began there and must
// be continued there, whatever directory later records contain.
func FirstCwd(line lines.Line) (string, bool) {
	if begin, held := line.Beginning(); held {
		if cwd, ok := cwdIn(begin); ok {
			return cwd, true
		}
	}
	head, done := lines.Borrow()
	defer done()
	for size := 8 << 10; size <= maxHead; size *= 8 { // mostly it is within a few kilobytes
		head = slices.Grow(head[:0], size)[:size]
		begin := line.Opening(head)
		if cwd, ok := cwdIn(begin); ok {
			return cwd, true
		}
		if len(begin) < size/2 {
			break // that was the whole file
		}
	}
	return "", false
}

func cwdIn(head []byte) (string, bool) {
	for line := range bytes.Lines(head) {
		value, _ := lines.Field(line, "cwd")
		var cwd string
		if json.NewDecoder(bytes.NewReader(value)).Decode(&cwd) == nil && cwd != "" {
			return cwd, true
		}
	}
	return "", false
}
