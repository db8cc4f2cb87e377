package gemini

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// choose continues a session in the root of its project, with the model of the last answer. Chats do not contain the
// approval mode: if the start was not seen, the run gets what the user's settings allow, never more.
func choose(ctx context.Context, d *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	session, dir := place(lines.Line{Path: s.Transcript}) // the current values
	if session != s.Key.ID {
		c.Park = fmt.Sprintf("the transcript is not of session %s any more", s.Key.ID)
		return c, nil
	}
	if c.Leave = agent.CheckDir(s, dir); c.Leave != nil {
		return c, nil
	}
	running, err := d.Processes.Running(ctx, isProgram)
	if err != nil {
		return c, err
	}
	for _, p := range running {
		if p.Mark != "" && p.LivesIn(process.PlaceOf(dir)) { // its start may have deleted the other session's chat
			c.Wait = "another resumed session works in " + dir
			return c, nil
		}
	}
	lost, err := lostPrompt(ctx, s.Transcript)
	if err != nil {
		return c, err
	}
	if lost != nil {
		if c.Words = lost.again(); c.Words == "" {
			c.Park = Name + " took the last prompt back, and it cannot be given again on a command line"
		}
	}
	if c.Args = leash.WithModel(nil, had.Model); len(c.Args) > 0 {
		c.Newer = []string{"-m", "--model"}
	}
	if byGoogle(d.Homes.Of(s.Transcript)) { // then these keys are not needed
		c.Spare = leash.Variables{{Names: "GEMINI_API_KEY GOOGLE_API_KEY"}}.Has
	}
	c.Dir, c.Keep = dir, []string{s.Transcript}
	return c, nil
}

// maxPrompt is less than the maximum length of an argument on Linux.
const maxPrompt = 120 << 10

// again returns the text to send a removed prompt again; empty: it cannot be sent on a command line.
func (r record) again() string {
	parts := r.Typed
	if len(parts) == 0 {
		parts = r.Content
	}
	if text := parts.Text(); !parts.Attached() && len(text) <= maxPrompt {
		return text
	}
	return ""
}

// Verdict returns the meaning of the refusal that ended a turn.
func Verdict(limits limit.Reader, refusal limit.Refusal) limit.Verdict {
	v := agent.Failed(limits.Refusal(refusal))
	if v.Class == limit.UsageLimit && !v.Reset.Stated() && ofADay.MatchString(refusal.Text) {
		v.Reset = nextDay(limits.At)
	}
	return v
}

// ofADay matches Gemini CLI's text for a daily quota. It omits Google's reset time.
var ofADay = regexp.MustCompile(`(?i)\bdaily\b[^.\n]{0,60}\bquota\b`)

// overlap is how long after midnight a refusal may still belong to the day before.
const overlap = 10 * time.Minute

// nextDay returns when daily quotas are reset: Google counts days in Pacific time. It states no reset shortly after
// midnight.
func nextDay(at time.Time) limit.Reset {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil || at.IsZero() {
		return limit.Reset{}
	}
	year, month, day := at.In(zone).Date()
	if at.Sub(time.Date(year, month, day, 0, 0, 0, 0, zone)) < overlap {
		return limit.Reset{}
	}
	return limit.Reset{At: time.Date(year, month, day+1, 0, 0, 0, 0, zone), Source: limit.Words, Rough: true}
}
