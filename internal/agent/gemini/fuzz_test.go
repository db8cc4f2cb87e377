package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Any line is parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	for _, c := range agenttest.Cases[captured](f) {
		data, err := os.ReadFile(c.path())
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(bytes.TrimSpace(line))
		}
	}
	f.Add([]byte(`{"$rewindTo":"x"}`))
	f.Add([]byte(`{"$set":{"messages":[{"id":"e","timestamp":"2026-11-15T00:00:00Z","type":"error","content":"[API Error: terminated]"}]}}`))
	a := newAgent(f, agent.Options{})
	src := a.Sources()[0]
	chat := filepath.Join("testdata", "chats", "headless_ok.jsonl")
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(src, lines.Line{Path: chat, Data: data, ModTime: written})
		again, okAgain := a.Observe(src, lines.Line{Path: chat, Data: data, ModTime: written})
		if ok != okAgain || s != again {
			t.Fatalf("equal lines give %v and %v", s, again)
		}
		if !ok {
			return
		}
		// No version escapes more than necessary, or writes a name twice or in capitals.
		odd := bytes.ContainsRune(data, '\\') || !strings.Contains(string(data), `"type"`) && !bytes.Contains(data, []byte(`"$rewindTo"`)) ||
			bytes.Contains(data, []byte(`"$set"`))
		if sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() {
			if !agenttest.MayStateATime(l.Text) && !strings.HasSuffix(l.Text, "…") {
				t.Fatalf("reset %v of a text without a number: %q", l.Reset, l.Text)
			}
		}
	})
}

// No file is a stub if one of its lines is important.
func FuzzStub(f *testing.F) {
	for _, name := range []string{"stub", "headless_ok", "interactive_cancelled", "quota_long_firstturn"} {
		data, err := os.ReadFile(filepath.Join("testdata", "chats", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	a := newAgent(f, agent.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		first, _, _ := bytes.Cut(data, []byte("\n"))
		head, _ := parse(first)
		if !holdsNothing(data, head.SessionID) {
			return
		}
		for line := range bytes.Lines(data) {
			r, _ := parse(line)
			if event := r.event(a.Limits, time.Unix(1, 0)); event != nil {
				t.Fatalf("a stub that says %#v", event)
			}
		}
	})
}
