package custom

import (
	"testing"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// For any line, sift and Observe agree, and a reset is never invented.
func FuzzObserve(f *testing.F) {
	for _, line := range []string{
		"step 1", "rate limited", "rate limited, retry in 2s", "rate limited until 2:30am (UTC)", "rate limited, retry in 3 days 4 hours",
		"stopped: overloaded", "rate limited until \xff", "rate limited, retry in 99999999999999999999", "",
	} {
		f.Add([]byte(line))
	}
	a, err := New(mybot("/logs"))
	if err != nil {
		f.Fatal(err)
	}
	src := a.Sources()[0]
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := a.Observe(src, lines.Line{Path: "/logs/s1.log", Data: data, ModTime: written})
		if !ok {
			return
		}
		if a.sift(data) == agent.Nothing {
			t.Fatalf("a line that means %#v would be passed over", s.Event)
		}
		if l, ok := s.Event.(resume.Limited); ok && l.Reset.Stated() && !agenttest.MayStateATime(string(data)) {
			t.Fatalf("reset %v of a line without a number: %q", l.Reset, data)
		}
	})
}
