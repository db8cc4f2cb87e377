package opencode

import (
	"bytes"
	"os"
	"testing"
	"time"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Whatever a row holds, it is understood or passed over; and a reset is never
// made up.
func FuzzMessage(f *testing.F) {
	for _, c := range captures(f) {
		for _, m := range loadRows(f, c.File).Message {
			f.Add([]byte(m["data"].(string)))
		}
	}
	reader := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Read(data, 1794700878837, 1794700893299)
		event := s.Event(reader)
		if (event == nil) != (s.meaning == nothing || s.meaning == pending) {
			t.Fatalf("%v tells %#v", s.meaning, event)
		}
		l, ok := event.(resume.Limited)
		if !ok {
			return
		}
		if l.Class == limit.None || l.At.UnixMilli() != s.atMS || l.InProgress {
			t.Fatalf("a failure means %#v", l)
		}
		if l.Reset.Stated() && !agenttest.MayStateATime(string(data)) {
			t.Fatalf("reset %v of a row without a number", l.Reset)
		}
	})
}

// Whatever the plugin's file holds, it is understood or passed over.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(retryLine(time.UnixMilli(1794700878837), 7, time.UnixMilli(1794700893299))))
	data, err := os.ReadFile("testdata/plugin-events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		n, ok := parseEntry(line)
		if ok && (n.session == "" || n.pid <= 0 || n.kind == 0 || n.atMS <= 0) {
			t.Fatalf("%#v", n)
		}
		n.status.Verdict(limit.Reader{}, time.UnixMilli(n.atMS))
	})
}
