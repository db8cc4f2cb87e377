package codex

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Any last lines of a rollout are parsed or skipped, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	for _, c := range agenttest.Cases[captured](f) {
		data, err := os.ReadFile(c.path())
		if err != nil {
			f.Fatal(err)
		}
		before := []byte{}
		for raw := range bytes.Lines(data) {
			raw = bytes.TrimSpace(raw)
			if rollout.Sift(raw) != agent.Nothing {
				f.Add(before, raw)
			}
			before = raw
		}
	}
	a, err := New(Options{Roots: []string{"/r"}, Zone: time.UTC, Grace: 2 * time.Hour})
	if err != nil {
		f.Fatal(err)
	}
	src := a.Sources()[0]
	path := rolloutOf(f, meta(""))
	f.Fuzz(func(t *testing.T, before, data []byte) {
		if bytes.ContainsRune(before, '\n') {
			return
		}
		start := meta(`,"cli_version":"0.120.0"`) + "\n" + string(before) + "\n"
		if err := os.WriteFile(path, []byte(start+string(data)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, ok := a.Observe(src, lines.Line{Path: path, Offset: int64(len(start)), Data: data, ModTime: written})
		if !ok {
			return
		}
		if rollout.Sift(data) == agent.Nothing && !odd(data) {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if s.Key.ID != sessionA {
			t.Fatalf("session id %q", s.Key.ID)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() {
			checkStated(t, l, before, data)
		}
	})
}

// odd reports whether no version writes such a line: it escapes the names of
// kinds, or writes their keys in capitals or more often than once.
func odd(line []byte) bool {
	lower := bytes.ToLower(line)
	kinds, payloads := bytes.Count(line, []byte(`"type"`)), bytes.Count(line, []byte(`"payload"`))
	return bytes.ContainsRune(line, '\\') || kinds > 2 || payloads > 1 ||
		kinds != bytes.Count(lower, []byte(`"type"`)) || payloads != bytes.Count(lower, []byte(`"payload"`))
}

// checkStated fails if the lines cannot have stated the reset.
func checkStated(t *testing.T, l resume.Limited, before, line []byte) {
	t.Helper()
	if l.Reset.Source != limit.Structured {
		if !agenttest.MayStateATime(l.Text) && !strings.HasSuffix(l.Text, "…") {
			t.Fatalf("reset %v of a text without a number: %q", l.Reset, l.Text)
		}
		return
	}
	for _, raw := range [][]byte{before, line} {
		r, _ := lines.Parse[struct {
			Payload struct {
				Limits struct {
					Primary   rollout.Window `json:"primary"`
					Secondary rollout.Window `json:"secondary"`
				} `json:"rate_limits"`
			} `json:"payload"`
		}](raw)
		for _, w := range []rollout.Window{r.Payload.Limits.Primary, r.Payload.Limits.Secondary} {
			if int64(w.ResetsAt) == l.Reset.At.Unix() {
				return
			}
		}
	}
	t.Fatalf("reset %v is in no window", l.Reset)
}
