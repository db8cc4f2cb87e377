package screen

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
)

// Process is what is known about the process behind a screen.
type Process struct {
	PID    int
	Status string      // its own status: busy, idle, waiting; "gone" if it no longer holds the session
	Asked  bool        // the limit's menu was shown just before, so the limit is what stopped it
	Vim    func() bool // whether it uses vim keys; the screen shows only INSERT

	// Commands reports whether commands such as /context followed the refusal: they may fill the screen.
	Commands func() bool
}

// Judge decides what may be typed on the screen of a process whose session was stopped.
func (s Screen) Judge(p Process, stopped resume.Session, now time.Time) agent.Sight {
	sight := s.judge(p, stopped, now)
	sight.Draft = s.draft
	return sight
}

func (s Screen) judge(p Process, stopped resume.Session, now time.Time) agent.Sight {
	givenUntil := stopped.Limit.Reset.At.Add(transcript.Patience)
	switch {
	case p.Status == "gone":
		return left(fmt.Sprintf("process %d has let go of the session", p.PID))
	case s.view == busy || p.Status == "busy":
		return left(fmt.Sprintf("process %d works on the session", p.PID))
	case s.view == menu && p.Status == "waiting":
		return agent.Sight{Menu: true}
	case s.view == menu:
		return unknown("its terminal shows the limit's menu, and the process does not say that it waits")
	case p.Status == "waiting" && s.title != "":
		const why = "a dialog is open in its terminal (%.60s): %sanswer or close it there, and the prompt is typed"
		asks := ""
		if oldSession.MatchString(s.title) {
			asks = asksForSummary
		}
		return agent.Sight{Leave: &agent.Leave{Why: fmt.Sprintf(why, s.title, asks), Tell: true}}
	case p.Status == "waiting":
		return unknown("it waits for an answer to something that is not known")
	case s.view == touched:
		return left("somebody was at its keyboard just now")
	case s.view == stale:
		return unknown("it asks for Enter to continue, as after a sleep past the reset; that is left to you")
	case s.view == strange:
		return unknown("its terminal shows a screen that is not known")
	case s.view == armed && now.Before(givenUntil):
		return agent.Sight{Leave: transcript.LeaveUntil(p.PID, givenUntil)}
	case !p.Asked && !s.shows(stopped.LimitText) && !(s.cut && p.Commands()):
		return unknown("its terminal does not show what stopped the session")
	case !s.insert && p.Vim():
		const why = "its composer is in vim's NORMAL mode, where letters are commands: press i there, and the prompt is typed"
		return agent.Sight{Leave: &agent.Leave{Why: why, Tell: true}}
	default:
		return agent.Sight{}
	}
}

// oldSession is the title of a dialog that does not tell what it asks. No key answers it for its user: Escape continues
// with the full session.
var oldSession = regexp.MustCompile(`^This session is .+ old and .+ tokens\.`)

const asksForSummary = "it asks whether to continue from a summary, or with the full session, which uses more of your allowance; "

func left(why string) agent.Sight { return agent.Sight{Leave: &agent.Leave{Why: why}} }

func unknown(why string) agent.Sight {
	return agent.Sight{Leave: &agent.Leave{Why: why, Park: true}, Strange: true}
}

// shownPart must be on the screen: the text may be cut, and what follows it varies.
const shownPart = 20

// shows reports whether the turn on the screen ends with the refusal in the transcript: then the
// screen shows this session as it stopped. On a low screen the turn begins within that text, or
// below it.
func (s Screen) shows(refusal string) bool {
	words := []rune(squeeze(refusal))
	switch {
	case s.cut && s.view == armed:
		return true
	case transcript.LetEnd(refusal):
		return true // it is never shown: the turn ended normally
	case len(words) == 0:
		return false
	case strings.Contains(s.turn, string(words[:min(shownPart, len(words))])):
		return true
	}
	for from := 1; s.cut && from <= len(words)-shownPart; from++ {
		if strings.HasPrefix(s.turn, string(words[from:])) {
			return true
		}
	}
	return false
}
