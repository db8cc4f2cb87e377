package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatAProcessWasStartedWithCounts(t *testing.T) {
	prompted := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return prompted.Add(time.Duration(seconds) * time.Second) }
	had := &Origin{Args: []string{"--had"}, SeenAt: at(-60)}
	counts, boxed := &Origin{SeenAt: at(1), Process: Process{PID: 5}}, &Origin{SeenAt: at(1), Sandbox: "mounts of its own", Process: Process{PID: 7}}
	for name, c := range map[string]struct {
		s     Session
		new   Origin
		takes bool // the origin is stored
		seen  bool // and StartedWith returns it
	}{
		"of one that took the last prompt":              {Session{Origin: had, PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(1)}, true, true},
		"not of one that began after it":                {Session{Origin: had, PromptedAt: prompted}, Origin{BeganAt: at(5), SeenAt: at(6)}, false, false},
		"nor after the limit, where no prompt is known": {Session{LimitedAt: prompted}, Origin{BeganAt: at(5), SeenAt: at(6)}, false, false},
		"of one of which nobody knows when it began":    {Session{PromptedAt: prompted}, Origin{SeenAt: at(6)}, true, true},
		"of one in a session of which little is known":  {Session{}, Origin{BeganAt: at(5), SeenAt: at(6)}, true, true},
		"not of one in a sandbox beside it":             {Session{Origin: counts, PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(2), Sandbox: "mounts of its own"}, false, true},
		"not of one outside of the sandbox beside it":   {Session{Origin: boxed, PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(2)}, false, true},
		"of one in a sandbox after another":             {Session{Origin: boxed, PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(2), Sandbox: "mounts of its own"}, true, true},
		"of one in a sandbox that took the last prompt": {Session{Origin: had, PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(1), Sandbox: "mounts of its own"}, true, true},
		"of one that went into a sandbox since":         {Session{Origin: &Origin{SeenAt: at(1), Process: Process{PID: 7}}, PromptedAt: prompted}, *boxed, true, true},
		"not where another one may have followed":       {Session{PromptedAt: prompted}, Origin{BeganAt: at(-5), SeenAt: at(-1)}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.s.Next(Learned{Origin: &c.new}, Rules{}, at(10), 0.5)
			if c.takes {
				require.Same(t, &c.new, after.Origin)
			} else {
				require.Same(t, c.s.Origin, after.Origin)
			}
			require.Equal(t, c.seen, after.StartedWith() != nil)
		})
	}
}
