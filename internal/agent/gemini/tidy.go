package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Tidy removes the stub that a headless resume leaves beside the chat: a file with the same id and a later minute in
// its name, which contains only the preamble. The next start of Gemini CLI in that project would find nothing to
// resume in it and delete every file with that id, including the chat.
func (a *Agent) Tidy(ctx context.Context, s resume.Session) error {
	stubs := stubsOf(s)
	if len(stubs) == 0 {
		return nil
	}
	owner, err := a.Owner(ctx, s)
	if err != nil || owner != nil {
		return err // a live process may use the file; the next resume calls Tidy again
	}
	for _, stub := range stubs {
		if err := os.Remove(stub); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stub: %w", err)
		}
	}
	return nil
}

// stubsOf returns the stubs beside a session's chat; none if the chat is gone or is a stub itself: then nothing may be
// removed.
func stubsOf(s resume.Session) (stubs []string) {
	dir, file := filepath.Split(s.Transcript)
	name := chatName.FindStringSubmatch(file)
	if _, err := os.Lstat(s.Transcript); err != nil || name == nil || isStub(s.Transcript, s.Key.ID) {
		return nil
	}
	others, _ := fs.Glob(os.DirFS(dir), "session-*-"+name[1]+".jsonl") // errs on a bad pattern only
	for _, other := range others {
		path := filepath.Join(dir, other)
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && other != file && isStub(path, s.Key.ID) {
			stubs = append(stubs, path)
		}
	}
	return stubs
}

// isStub reports whether a file belongs to that session and contains only preambles. A file that cannot be read
// completely is not a stub.
func isStub(path, id string) bool {
	data, err := agent.ReadSettings(path)
	return err == nil && holdsNothing(data, id)
}

// holdsNothing reports whether these lines belong to that session and are only preambles.
func holdsNothing(data []byte, id string) bool {
	headed := false
	for line := range bytes.Lines(data) {
		r, ok := parse(line)
		switch {
		case !ok || !bytes.HasSuffix(line, []byte("\n")):
			return false // an unknown record may be important
		case r.isHeader():
			if r.SessionID != id {
				return false
			}
			headed = true
		case !isBareUpdate(line):
			return false
		}
	}
	return headed
}

// isBareUpdate reports whether a line only updates what a stub has: its id, its time, and preambles.
func isBareUpdate(line []byte) bool {
	var update map[string]map[string]json.RawMessage
	if json.Unmarshal(line, &update) != nil || len(update) != 1 {
		return false
	}
	for key, value := range update["$set"] {
		switch key {
		case "sessionId", "lastUpdated":
		case "messages":
			var messages []record
			if json.Unmarshal(value, &messages) != nil {
				return false
			}
			if slices.ContainsFunc(messages, func(m record) bool { return !m.isBarePreamble() }) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isBarePreamble reports whether a message is a preamble and nothing else.
func (r record) isBarePreamble() bool {
	text := strings.TrimSpace(r.text())
	return r.Type == "user" && len(partsOf(r.Content)) == 1 &&
		strings.HasPrefix(text, sessionContext) && strings.HasSuffix(text, sessionContextEnd) &&
		strings.Count(text, sessionContext) == 1
}
