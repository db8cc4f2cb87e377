// Package screen recognises terminal screens of Claude Code, and decides what may be typed.
package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/lazy"
	"resumed/internal/resume"
)

type view uint8

const (
	strange  view = iota // not recognised: nothing is typed
	composer             // a prompt can be typed
	busy                 // Claude Code works, or retries by itself
	armed                // it waits for the limit's reset and will continue then
	menu                 // it asks what to do about the limit
	touched              // a person has just pressed a key
	stale                // the limit was reset while the machine slept, and it asks for Enter
)

// Screen is the parsed content of a terminal.
type Screen struct {
	title  string // of a dialog that covers the composer
	view   view
	draft  string // the text in the composer
	turn   string // the text since the last prompt, without spaces
	cut    bool   // the turn begins above the screen
	insert bool   // vim's INSERT mode is shown
}

// Read parses a screen of Claude Code from its end backwards. Two rules enclose the composer.
// Above them is the conversation, below them are notices and the permission mode.
func Read(text string) Screen {
	lines, looks := readLooks(text)
	lines = trimRows(lines)
	if isLimitMenu(lines) {
		return Screen{view: menu}
	}
	lower := lastIndex(lines, isRule)
	upper := lastIndex(lines[:max(0, lower)], isRule)
	if upper < 0 {
		return Screen{title: dialogIn(lines)}
	}
	draft, ok := readComposer(lines[upper+1 : lower])
	if !ok {
		return Screen{title: dialogIn(lines)}
	}
	isDim := func(l look) bool { return l&dim != 0 }
	dimmed := slices.ContainsFunc(looks, func(row []look) bool { return slices.ContainsFunc(row, isDim) })
	if isHint(draft, lines[upper+1:lower], looks[upper+1:lower], dimmed) {
		draft = ""
	}
	footer := withoutNotices(lines[lower+1:])
	s := Screen{view: readFooter(footer), draft: draft}
	s.turn, s.cut = lastTurn(lines[:upper])
	s.insert = slices.ContainsFunc(footer, func(line string) bool { return strings.HasPrefix(line, insertMode) })
	if draft != "" && len(footer) == 0 {
		s.view = composer // 2.1.197 hides its hint, in the unnamed mode, while the composer is not empty
	}
	if strings.Contains(strings.ToLower(s.turn), squeeze(transcript.HasReset+" · "+pressEnter)) {
		s.view = stale
	}
	if s.view != strange && showsWork(lines[:upper]) {
		s.view = busy
	}
	return s
}

// trimRows returns the rows without trailing space, and without blank rows at the end.
func trimRows(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace) // a no-break space too
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func lastIndex(lines []string, is func(string) bool) int {
	for i, line := range slices.Backward(lines) {
		if is(line) {
			return i
		}
	}
	return -1
}

const shortestRule = 10

func isRule(line string) bool {
	return strings.Trim(line, "─") == "" && strings.Count(line, "─") >= shortestRule
}

// isEdge reports whether the line may be the upper edge of a menu. A notice may cover most of it.
func isEdge(line string) bool { return strings.HasSuffix(line, "▔") || isRule(line) }

// sign is before the text in the composer, with a space.
const (
	sign       = "❯"
	beforeText = 2
)

// readComposer returns false for a shell command, which begins with another character than a prompt.
func readComposer(lines []string) (draft string, ok bool) {
	if len(lines) == 0 {
		return "", false
	}
	first, ok := strings.CutPrefix(lines[0], sign)
	if !ok {
		return "", false
	}
	parts := []string{trim(first)}
	for _, line := range lines[1:] {
		parts = append(parts, trim(line))
	}
	return trim(strings.Join(parts, "\n")), true
}

func trim(s string) string { return strings.TrimFunc(s, unicode.IsSpace) }

// insertMode is shown before the mode, or alone. NORMAL mode shows nothing.
const insertMode = "-- INSERT --"

var (
	// modeLine is the last line of every screen that accepts a prompt, if there is room for it.
	modeLine = lazy.Regexp(`^(?:-- INSERT -- )?(?:⏵⏵|⏸) .+ on\b|^\? for shortcuts\b|^` + insertMode)

	// choice matches menus, never a footer.
	choice = lazy.Regexp(`❯|^\d+\.|(?i)\benter to\b|\besc to (?:cancel|go back|close)\b|\(y/n\)`)

	// atTheKeys replaces the mode for a while after a key was pressed.
	atTheKeys = lazy.Regexp(`(?i)^(?:paste again to|press \S+ again to|(?:esc|ctrl\S*) again to)`)

	// working may be cut at the terminal's edge.
	working = lazy.Regexp(`\besc to (?:interrupt\b|(?:i|in|int|inte|inter|interr|interru|interrup)?…$)`)
)

// pressEnter follows transcript.HasReset. It is known only from the program: that screen was never observed.
const pressEnter = "press enter to continue"

// resetsAt remains on a terminal with few rows if Claude Code will continue by itself.
const resetsAt = "⚠ Usage limit reached · limit resets"

// readFooter evaluates the lines below the composer. It ignores a user's own status line.
func readFooter(lines []string) view {
	if len(lines) == 0 {
		return strange
	}
	v := composer
	for _, line := range lines {
		switch {
		case working().MatchString(line):
			return busy
		case strings.HasPrefix(line, resetsAt),
			strings.HasPrefix(line, "Continuing ") && strings.HasSuffix(line, "Esc to cancel"):
			v = armed
		case v == armed && strings.HasSuffix("· Esc to cancel", line): // wrapped by a narrow terminal
		case strings.HasPrefix(strings.ToLower(line), pressEnter):
			return stale
		case choice().MatchString(line):
			return strange
		}
	}
	switch last := lines[len(lines)-1]; {
	case atTheKeys().MatchString(last):
		return touched
	case strings.HasPrefix(last, resetsAt):
		return armed
	case !modeLine().MatchString(last):
		return strange
	}
	return v
}

// noticeIndent: modes, menus and status lines begin at the left edge.
const noticeIndent = 8

// isNotice reports whether a line below the composer is a temporary notice at the right edge,
// about the model's effort or missing features of the terminal. The latter fills the line of a
// narrow terminal.
func isNotice(line string) bool {
	text := trim(line)
	atTheRight := strings.HasPrefix(line, strings.Repeat(" ", noticeIndent)) || strings.HasPrefix(text, "tmux focus-events off")
	return atTheRight && !choice().MatchString(text) && !strings.Contains(text, "esc to ")
}

func withoutNotices(lines []string) []string {
	var rest []string
	for _, line := range lines {
		if line != "" && !isNotice(line) {
			rest = append(rest, trim(line))
		}
	}
	return rest
}

// spinner is animated while Claude Code works. After the turn it shows the duration.
var spinner = lazy.Regexp(`^[✻✽✶✳✢✦·*] .*(?:…|\bRetrying in )`)

// A tip or a list of tasks may be below the spinner.
func showsWork(lines []string) bool {
	seen := 0
	for _, line := range slices.Backward(lines) {
		if line == "" {
			continue
		}
		if spinner().MatchString(line) {
			return true
		}
		outdented := line[0] != ' '
		if seen++; seen > 12 || outdented {
			return false
		}
	}
	return false
}

// lastTurn returns the text since the last prompt, without spaces because lines are wrapped at
// any position, and whether that prompt is above the screen. A command such as /model begins no
// turn: if one did, the transcript would show it.
func lastTurn(lines []string) (turn string, cut bool) {
	from := lastIndex(lines, func(line string) bool {
		prompt, ok := strings.CutPrefix(line, "❯")
		return ok && !strings.HasPrefix(trim(prompt), "/")
	}) + 1
	return squeeze(strings.Join(lines[from:], "")), from == 0
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// The limit's menu in its versions. Escape closes it; every other key with an effect chooses
// something, and one of the choices buys.
const (
	menuHead = "What do you want to do? 1. Stop and wait for limit to reset"
	menuFoot = "Enter to confirm · Esc to cancel"
)

var (
	menuNumber = lazy.Regexp(` \d\. `)
	menuChoice = lazy.Regexp(
		`^(?:Wait here, then continue automatically [^❯]+|Upgrade your plan|Add funds to continue with [^❯]+|Request more|Switch to [^❯]+)$`)
)

const longestMenu = 20

// isLimitMenu reports whether the screen ends with exactly that menu, whichever choice is marked. A
// narrow terminal wraps its lines, a low one shows only the first choice.
func isLimitMenu(lines []string) bool {
	var rows []string
	marked := 0
	for _, line := range slices.Backward(lines) {
		if isEdge(line) {
			break
		}
		if choice, ok := strings.CutPrefix(trim(line), "❯ "); ok {
			line = choice
			marked++
		}
		if line = trim(line); line != "" {
			rows = append(rows, line)
		}
		if len(rows) > longestMenu {
			return false
		}
	}
	slices.Reverse(rows)
	text, headed := strings.CutPrefix(strings.Join(rows, " "), menuHead)
	text, footed := strings.CutSuffix(text, " "+menuFoot)
	if !headed || !footed || marked != 1 {
		return false
	}
	choices := menuNumber().Split(text, -1)
	return choices[0] == "" && !slices.ContainsFunc(choices[1:], func(choice string) bool { return !menuChoice().MatchString(choice) })
}

// dialogRow is the marked choice of a dialog, or the keys that end it.
var dialogRow = lazy.Regexp(`^ +❯ |\b(?:Enter to|Esc to (?:cancel|close|exit|go back))\b`)

func dialogIn(lines []string) string {
	edge := lastIndex(lines, isEdge)
	if edge < 0 || !slices.ContainsFunc(lines[edge:], dialogRow().MatchString) {
		return ""
	}
	for _, line := range lines[edge+1:] {
		if title := trim(line); title != "" {
			return title
		}
	}
	return ""
}

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
func (s Screen) Judge(p Process, stopped resume.Session, now time.Time) agent.ScreenState {
	sight := s.judge(p, stopped, now)
	sight.Draft = s.draft
	return sight
}

func (s Screen) judge(p Process, stopped resume.Session, now time.Time) agent.ScreenState {
	givenUntil := stopped.Limit.Reset.At.Add(transcript.Patience)
	switch {
	case p.Status == "gone":
		return left(fmt.Sprintf("process %d has let go of the session", p.PID))
	case s.view == busy || p.Status == "busy":
		return left(fmt.Sprintf("process %d works on the session", p.PID))
	case s.view == menu && p.Status == "waiting":
		return agent.ScreenState{Menu: true}
	case s.view == menu:
		return unknown("its terminal shows the limit's menu, and the process does not say that it waits")
	case p.Status == "waiting" && s.title != "":
		const why = "a dialog is open in its terminal (%.60s): %sanswer or close it there, and the prompt is typed"
		asks := ""
		if oldSession().MatchString(s.title) {
			asks = asksForSummary
		}
		return agent.ScreenState{Skip: &agent.Skip{Why: fmt.Sprintf(why, s.title, asks), Tell: true}}
	case p.Status == "waiting":
		return unknown("it waits for an answer to something that is not known")
	case s.view == touched:
		return left("somebody was at its keyboard just now")
	case s.view == stale:
		return unknown("it asks for Enter to continue, as after a sleep past the reset; that is left to you")
	case s.view == strange:
		return unknown("its terminal shows a screen that is not known")
	case s.view == armed && now.Before(givenUntil):
		return agent.ScreenState{Skip: transcript.LeaveUntil(p.PID, givenUntil)}
	case !p.Asked && !s.shows(stopped.LimitText) && !(s.cut && p.Commands()):
		return unknown("its terminal does not show what stopped the session")
	case !s.insert && p.Vim():
		const why = "its composer is in vim's NORMAL mode, where letters are commands: press i there, and the prompt is typed"
		return agent.ScreenState{Skip: &agent.Skip{Why: why, Tell: true}}
	default:
		return agent.ScreenState{}
	}
}

// oldSession is the title of a dialog that does not tell what it asks. No key answers it for its user: Escape continues
// with the full session.
var oldSession = lazy.Regexp(`^This session is .+ old and .+ tokens\.`)

const asksForSummary = "it asks whether to continue from a summary, or with the full session, which uses more of your allowance; "

func left(why string) agent.ScreenState { return agent.ScreenState{Skip: &agent.Skip{Why: why}} }

func unknown(why string) agent.ScreenState {
	return agent.ScreenState{Skip: &agent.Skip{Why: why, Park: true}, Strange: true}
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
