package notify

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Digested is one session of a digest.
type Digested struct {
	View   view.Session
	GoOn   string // the command that continues it; empty: not known
	Needed bool   // it needs a person; otherwise it was continued
}

// TellDigest reports what was continued, and what needs a person. Without sessions there is no notice.
func (n *Notifier) TellDigest(sessions []Digested) {
	if len(sessions) == 0 {
		return
	}
	n.tellAs(Digest, resume.AccountKey{}, "digest of "+n.now().String(), func(g *group) {
		for _, s := range sessions {
			g.append(trimView(s.View))
		}
		g.detail = digestText(sessions)
	})
}

// digestText returns the title and the text of a digest: sessions that need a person come first.
func digestText(sessions []Digested) string {
	var needed, continued []string
	for _, s := range sessions {
		line := listLine(s.View)
		if s.Needed {
			line += ": " + sanitize.Short(humanize.Reason(s.View.Reason, func(t time.Time) string { return humanize.LastingClock(t, time.Now()) }), 80)
		}
		if s.GoOn != "" {
			line += "\n  " + sanitize.Line(s.GoOn)
		}
		if s.Needed {
			needed = append(needed, line)
		} else {
			continued = append(continued, line)
		}
	}
	var title []string
	if n := len(continued); n > 0 {
		title = append(title, humanize.Count(n, "session")+" continued")
	}
	if n := len(needed); n > 0 {
		title = append(title, fmt.Sprintf("%d %s you", n, humanize.Verb(n, "needs", "need")))
	}
	text := []string{"resumed: " + strings.Join(title, ", ")}
	left := maxTextSessions
	for _, part := range []struct {
		title string
		lines []string
	}{{"Needs you:", needed}, {"Continued:", continued}} {
		if len(part.lines) == 0 || left == 0 {
			continue
		}
		shown := part.lines[:min(len(part.lines), left)]
		left -= len(shown)
		text = append(text, part.title, strings.Join(shown, "\n"))
		if more := len(part.lines) - len(shown); more > 0 {
			text = append(text, fmt.Sprintf(andMore, more))
		}
	}
	return strings.Join(text, "\n")
}
