package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Read says what a line of a transcript means for its session.
func (rd *Reader) Read(line agent.Line) (o resume.Observation, ok bool) {
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
	o.Cwd, o.Kind = rd.cwd(r, line), KindBy(r.Entrypoint)
	return o, true
}

// event returns what a record of the main conversation says. Records that the
// agent retries (system/api_error) or will continue by itself
// (system/informational) end no turn: they say nothing here. That a person does
// not want it to continue is told by nothing else.
func (rd *Reader) event(r record, line agent.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	if at.IsZero() {
		return nil, false
	}
	if ev, ok := rd.leavesOff(r, line); ok {
		return ev, true
	}
	switch {
	case r.Type == "user" && r.IsMeta && r.Note == release:
		return resume.Progressed{At: at}, true
	case r.Type == "assistant" && r.IsAPIError:
		return resume.Limited{At: at, Verdict: r.refusal().Verdict(rd.LimitsAt(at)), Text: agent.Clip(r.Message.Text())}, true
	case r.moved():
		return resume.Progressed{At: at, Model: r.Model}, true
	case r.interrupts(), r.declines():
		return resume.Cancelled{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	default:
		return nil, false
	}
}

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// IsID reports whether Claude Code may have given a session that id.
func IsID(id string) bool { return plainName.MatchString(id) }

// sessionID returns the id that the record names, else the one that its file
// is named after.
func sessionID(r record, path string) (string, bool) {
	if agent.IsUUID(r.SessionID) {
		return r.SessionID, true
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return name, IsID(name)
}

// cwd returns the directory that the session began in: it is the one to
// continue in, whatever directory later records name.
func (rd *Reader) cwd(r record, line agent.Line) string {
	if cwd, ok := rd.cwds.Get(line.Path); ok {
		return cwd
	}
	if begin, held := line.Beginning(); held || line.Offset == 0 {
		if cwd, ok := cwdIn(begin); ok || r.Cwd != "" {
			return cmp.Or(cwd, r.Cwd)
		}
	}
	cwd, ok := firstCwdIn(line.File, line.Path)
	if !ok {
		return r.Cwd
	}
	rd.cwds.Put(line.Path, cwd)
	return cwd
}

// maxHead is how far into a file its first record with a directory is looked for.
const maxHead = 4 << 20

// FirstCwd returns the first directory that a transcript names.
func FirstCwd(path string) (string, bool) { return firstCwdIn(nil, path) }

// firstCwdIn is FirstCwd of a file that may be open already.
func firstCwdIn(f *os.File, path string) (string, bool) {
	if f == nil {
		opened, err := agent.Open(path)
		if err != nil {
			return "", false
		}
		defer opened.Close()
		f = opened
	}

	// Most transcripts name it within a few kilobytes.
	head, done := agent.Borrow()
	defer done()
	for size := 8 << 10; size <= maxHead; size *= 8 {
		head = slices.Grow(head[:0], size)[:size]
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", false
		}
		if cwd, ok := cwdIn(head[:n]); ok {
			return cwd, true
		}
		if n < size {
			return "", false
		}
	}
	return "", false
}

func cwdIn(head []byte) (string, bool) {
	for line := range bytes.Lines(head) {
		if cwd, ok := agent.TextAtEnds(bytes.TrimSpace(line), "cwd"); ok && len(cwd) > 0 && bytes.IndexByte(cwd, '\\') < 0 && utf8.Valid(cwd) {
			return string(cwd), true // nearly always
		}
		if !bytes.Contains(line, []byte(`"cwd"`)) {
			continue
		}
		var r struct {
			Cwd string `json:"cwd"`
		}
		if json.Unmarshal(line, &r) == nil && r.Cwd != "" {
			return r.Cwd, true
		}
	}
	return "", false
}
