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
	Short  string // what a person types for it
	GoOn   string // the command by which a person goes on in it; empty: not known
	Needed bool   // it needs a person; else it was continued
}

// TellDigest says what happened while nobody looked: what was continued, and what
// needs a person. Of nothing nothing is told.
func (n *Notifier) TellDigest(sessions []Digested) {
	if len(sessions) == 0 {
		return
	}
	n.mu.Lock()
	if len(n.config.wanting(Digest)) > 0 {
		g := n.gathering.open(n.now(), 0, Digest, resume.AccountKey{}, n.now().String())
		for _, s := range sessions {
			g.take(member{View: trimView(s.View), Short: s.Short}, false)
		}
		g.Detail = digestText(sessions)
	}
	n.mu.Unlock()
	n.wake()
}

// digestText is the title and the text of a digest: what needs a person comes
// first.
func digestText(sessions []Digested) string {
	var needed, continued []string
	for _, s := range sessions {
		line := fmt.Sprintf("- %s (%s)", project(s.View), sanitize.Short(s.Short, longestName))
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
	var text strings.Builder
	text.WriteString("resumed: " + digestTitle(len(continued), len(needed)))
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
		text.WriteString("\n" + part.title + "\n" + strings.Join(shown, "\n"))
		if more := len(part.lines) - len(shown); more > 0 {
			fmt.Fprintf(&text, "\nand %d more: resumed status", more)
		}
	}
	return text.String()
}

func digestTitle(continued, needed int) string {
	var parts []string
	if continued > 0 {
		parts = append(parts, humanize.Count(continued, "session")+" continued")
	}
	switch {
	case needed == 1:
		parts = append(parts, "1 needs you")
	case needed > 1:
		parts = append(parts, fmt.Sprintf("%d need you", needed))
	}
	return strings.Join(parts, ", ")
}
