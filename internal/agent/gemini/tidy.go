package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Tidy removes the stub that a headless resume leaves beside the chat: a file
// with the same id and a later minute in its name, in which there is nothing
// but the preamble. The next start of Gemini CLI in that project would find
// nothing to resume in it and delete every file of that id, the chat itself
// included.
func (a *Agent) Tidy(ctx context.Context, s resume.Session) error {
	stubs, err := a.stubs(s)
	if err != nil || len(stubs) == 0 {
		return err
	}
	owner, err := a.Owner(ctx, s)
	if err != nil {
		return err
	}
	if owner != nil {
		return nil // a file of a living process is its own; the next resume tidies again
	}
	for _, stub := range stubs {
		if err := os.Remove(stub); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stub: %w", err)
		}
	}
	return nil
}

// stubs returns the stubs beside a session's chat.
func (a *Agent) stubs(s resume.Session) ([]string, error) {
	name := chatName.FindStringSubmatch(filepath.Base(s.Transcript))
	if name == nil || isStub(s.Transcript, s.Key.ID) {
		return nil, nil // not the chat itself, or already lost: nothing may go
	}
	dir := filepath.Dir(s.Transcript)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list chats: %w", err)
	}
	if _, err := os.Lstat(s.Transcript); err != nil {
		return nil, nil // the chat is gone: what is left of it stays
	}
	var stubs []string
	for _, entry := range entries {
		other := chatName.FindStringSubmatch(entry.Name())
		path := filepath.Join(dir, entry.Name())
		if other == nil || other[1] != name[1] || path == s.Transcript || !entry.Type().IsRegular() {
			continue
		}
		if isStub(path, s.Key.ID) {
			stubs = append(stubs, path)
		}
	}
	return stubs, nil
}

// maxStub is more than any stub has: a header and a preamble for each resume
// within its minute.
const maxStub = 8 << 20

// isStub reports whether a file is of that session and holds nothing but
// preambles. What cannot be read as a whole is none.
func isStub(path, id string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStub+1))
	return err == nil && len(data) <= maxStub && holdsNothing(data, id)
}

// holdsNothing reports whether these lines are of that session and nothing but
// preambles.
func holdsNothing(data []byte, id string) bool {
	headed := false
	for line := range bytes.Lines(data) {
		r, ok := parse(line)
		switch {
		case !ok || !bytes.HasSuffix(line, []byte("\n")):
			return false // not a record that is known: it may be worth something
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

// isBareUpdate reports whether a line changes nothing but what a stub has: its
// id, its time, and messages that are preambles.
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
