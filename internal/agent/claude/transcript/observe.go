package transcript

import (
	"bytes"
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/resume"
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
		return resume.Limited{At: at, Verdict: r.refusal().Verdict(rd.LimitsAt(at)), Text: agent.Clip(r.Message.Text())}, true
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

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether Claude Code may have given a session that id.
func IsID(id string) bool { return plainName.MatchString(id) }

// sessionID returns the id in the record, else the one in the name of its file.
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
		if cwd, ok := lines.TextAtEnds(bytes.TrimSpace(line), "cwd"); ok && len(cwd) > 0 && bytes.IndexByte(cwd, '\\') < 0 && utf8.Valid(cwd) {
			return string(cwd), true // nearly always
		}
		if !bytes.Contains(line, []byte(`"cwd"`)) {
			continue
		}
		if r, ok := parse(line); ok && r.Cwd != "" {
			return r.Cwd, true
		}
	}
	return "", false
}
