package claude

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// read says what a line of a transcript means for its session.
func (a *Agent) read(line agent.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return o, false
	}
	if o.Event, ok = a.event(r, line); !ok {
		return o, false
	}
	if o.Key.ID, ok = sessionID(r, line.Path); !ok {
		return o, false
	}
	o.Cwd, o.Kind = a.cwd(r, line.Path), kindBy(r.Entrypoint)
	return o, true
}

// event returns what a record of the main conversation says. Records that the
// agent retries (system/api_error) or will continue by itself
// (system/informational) end no turn: they say nothing here. That a person does
// not want it to continue is told by nothing else.
func (a *Agent) event(r record, line agent.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	if at.IsZero() {
		return nil, false
	}
	if ev, ok := a.leavesOff(r, line); ok {
		return ev, true
	}
	switch {
	case r.Type == "user" && r.IsMeta && r.Note == release:
		return resume.Progressed{At: at}, true
	case r.Type == "assistant" && r.IsAPIError:
		return resume.Limited{At: at, Verdict: r.refusal().Verdict(a.LimitsAt(at)), Text: agent.Clip(r.Message.Text())}, true
	case r.moved():
		return resume.Progressed{At: at}, true
	case r.interrupts(), r.declines():
		return resume.Cancelled{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	default:
		return nil, false
	}
}

var plainName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// sessionID returns the id that the record names, else the one that its file
// is named after.
func sessionID(r record, path string) (string, bool) {
	if agent.IsUUID(r.SessionID) {
		return r.SessionID, true
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return name, plainName.MatchString(name)
}

// cwd returns the directory that the session began in: it is the one to
// continue in, whatever directory later records name.
func (a *Agent) cwd(r record, path string) string {
	if cwd, ok := a.cwds.Get(path); ok {
		return cwd
	}
	cwd, ok := firstCwd(path)
	if !ok {
		return r.Cwd
	}
	a.cwds.Put(path, cwd)
	return cwd
}

// maxHead is how far into a file its first record with a directory is looked for.
const maxHead = 4 << 20

// firstCwd returns the first directory that a transcript names.
func firstCwd(path string) (string, bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()

	// Most transcripts name it within a few kilobytes.
	for size := int64(64 << 10); size <= maxHead; size *= 8 {
		head, err := io.ReadAll(io.NewSectionReader(f, 0, size))
		if err != nil {
			return "", false
		}
		if cwd, ok := cwdIn(head); ok {
			return cwd, true
		}
		if int64(len(head)) < size {
			return "", false
		}
	}
	return "", false
}

func cwdIn(head []byte) (string, bool) {
	for line := range bytes.Lines(head) {
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
