package opencode

import (
	"testing"
	"time"

	"resumed/internal/agent/opencode/database"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Any row is parsed or skipped, and a reset is never invented.
func FuzzMessage(f *testing.F) {
	for _, c := range captures(f) {
		for _, m := range loadRows(f, c.File).Message {
			f.Add([]byte(m["data"].(string)))
		}
	}
	reader := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := database.ReadMessage(data, 1794700878837, 1794700893299)
		event := s.Event(reader)
		if (event == nil) != (s.Meaning == database.Nothing || s.Meaning == database.Pending) {
			t.Fatalf("%v tells %#v", s.Meaning, event)
		}
		l, ok := event.(resume.Limited)
		if !ok {
			return
		}
		if l.Class == limit.None || l.At.UnixMilli() != s.AtMS || l.InProgress {
			t.Fatalf("a failure means %#v", l)
		}
		if l.Reset.Stated() && !agenttest.MayStateATime(string(data)) {
			t.Fatalf("reset %v of a row without a number", l.Reset)
		}
	})
}
