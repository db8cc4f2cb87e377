package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Whatever a line holds, it is understood or passed over; and a reset is never
// made up.
func FuzzObserve(f *testing.F) {
	for _, c := range agenttest.Cases[struct{ File string }](f, "..") {
		data, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(c.File)))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if Sift(line) != agent.Nothing {
				f.Add(bytes.TrimSpace(line))
			}
		}
	}
	a := newReading()
	written := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(a.Sources()[0], lines.Line{Path: "/r/projects/p/s.jsonl", Data: data, ModTime: written})
		if !ok {
			return
		}
		r, _ := parse(data)
		kind, known := lines.Text(data, "type")
		odd := bytes.ContainsRune(data, '\\') || ofTool.In(data) || known && string(kind) != r.Type // no version writes such a record, or a name twice
		if Sift(data) == agent.Nothing && !odd {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if !IsID(s.Key.ID) {
			t.Fatalf("session id %q", s.Key.ID)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() {
			checkStated(t, l, data)
		}
	})
}

// checkStated fails where the line cannot have stated the reset.
func checkStated(t *testing.T, l resume.Limited, line []byte) {
	t.Helper()
	if l.Reset.Source == limit.Structured {
		r, _ := parse(line)
		if stated := r.refusal().Quota.ResetsAt; int64(stated) != l.Reset.At.Unix() {
			t.Fatalf("reset %v is not the record's %v", l.Reset.At, stated)
		}
		return
	}
	if !agenttest.MayStateATime(l.Text) && !strings.HasSuffix(l.Text, "…") {
		t.Fatalf("reset %v of a text without a number: %q", l.Reset, l.Text)
	}
}
