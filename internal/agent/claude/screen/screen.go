// Package screen recognises what a terminal shows of Claude Code, and judges what may be
// typed into it.
package screen

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"resumed/internal/agent/claude/transcript"
)

// view is what kind of screen a terminal shows.
type view uint8

const (
	strange  view = iota // nothing that is known: it is left alone
	composer             // a prompt can be typed
	busy                 // Claude Code works, or tries again by itself
	armed                // it waits for the limit's reset and goes on then
	menu                 // it asks what to do about the limit
	touched              // a person was at the keys just now
	stale                // the limit has reset while the machine slept, and it asks for Enter
)

// Screen is what was read from a terminal.
type Screen struct {
	Above []string // the rows above the composer or the menu: the conversation

	view   view
	draft  string // what stands in the composer
	turn   string // what was said since the last prompt, without spaces
	cut    bool   // and that begins above the screen
	insert bool   // vim's mode in which letters are letters is shown
}

// Known reports whether it is a screen of Claude Code that a prompt can be typed
// on, now or later.
func (s Screen) Known() bool { return s.view != strange }

// Works reports whether it shows Claude Code at work, or trying again by itself.
func (s Screen) Works() bool { return s.view == busy }

// Waits reports whether Claude Code waits for the limit's reset, and goes on
// then.
func (s Screen) Waits() bool { return s.view == armed }

// Read recognises a screen of Claude Code, from its end back: below the
// lower of two rules are notices and the permission mode, between the rules is
// the composer, above them is the conversation.
func Read(text string) Screen {
	lines := Rows(text)
	if isLimitMenu(lines) {
		return Screen{view: menu, Above: lines[:max(0, lastIndex(lines, isEdge))]}
	}
	lower := lastIndex(lines, isRule)
	if lower < 0 {
		return Screen{}
	}
	upper := lastIndex(lines[:lower], isRule)
	if upper < 0 {
		return Screen{}
	}
	draft, ok := readComposer(lines[upper+1 : lower])
	if !ok {
		return Screen{}
	}
	footer := withoutNotices(lines[lower+1:])
	s := Screen{view: readFooter(footer), draft: draft, Above: lines[:upper]}
	s.turn, s.cut = lastTurn(lines[:upper])
	s.insert = slices.ContainsFunc(footer, func(line string) bool { return strings.HasPrefix(line, insertMode) })
	if draft != "" && len(footer) == 0 {
		s.view = composer // 2.1.197 hides its hint, in the mode that has no name, while something stands in the composer
	}
	if strings.Contains(strings.ToLower(s.turn), squeeze(transcript.HasReset+" · "+pressEnter)) {
		s.view = stale
	}
	if s.view != strange && showsWork(lines[:upper]) {
		s.view = busy
	}
	return s
}

// Rows returns the rows without what is blank at their ends, and
// without blank rows at the screen's end.
func Rows(text string) []string {
	lines := strings.Split(text, "\n")
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

// isEdge reports whether the line may be the upper edge of a menu.
// A notice may cover most of it.
func isEdge(line string) bool { return strings.HasSuffix(line, "▔") || isRule(line) }

// readComposer returns what stands between the rules. A shell command begins
// with another sign than a prompt: that is no composer for prompts.
func readComposer(lines []string) (draft string, ok bool) {
	if len(lines) == 0 {
		return "", false
	}
	first, ok := strings.CutPrefix(lines[0], "❯")
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

// insertMode stands before the mode, or alone. NORMAL shows nothing: such a screen
// looks like one without vim.
const insertMode = "-- INSERT --"

var (
	// modeLine ends every screen that takes a prompt, where there is room for it.
	modeLine = regexp.MustCompile(`^(?:-- INSERT -- )?(?:⏵⏵|⏸) .+ on\b|^\? for shortcuts\b|^` + insertMode)

	// choice is what a footer never has: it would be a menu.
	choice = regexp.MustCompile(`❯|^\d+\.|(?i)\benter to\b|\besc to (?:cancel|go back|close)\b|\(y/n\)`)

	// atTheKeys is what takes the place of the mode for a while after a key.
	atTheKeys = regexp.MustCompile(`(?i)^(?:paste again to|press \S+ again to|(?:esc|ctrl\S*) again to)`)

	// working may be cut by the terminal's edge.
	working = regexp.MustCompile(`\besc to (?:interrupt\b|(?:i|in|int|inte|inter|interr|interru|interrup)?…$)`)
)

// pressEnter follows transcript.HasReset. How the screen looks then, and what it does with
// keys, nobody has seen: these words are known from the program alone.
const pressEnter = "press enter to continue"

// resetsAt begins the lines that say that Claude Code goes on by itself. Where a
// terminal has few rows it is all that is left of them.
const resetsAt = "⚠ Usage limit reached · limit resets"

// readFooter says what the lines below the composer mean. What a user's own
// status line says there is nobody's business.
func readFooter(lines []string) view {
	if len(lines) == 0 {
		return strange
	}
	v := composer
	for _, line := range lines {
		switch {
		case working.MatchString(line):
			return busy
		case strings.HasPrefix(line, resetsAt),
			strings.HasPrefix(line, "Continuing ") && strings.HasSuffix(line, "Esc to cancel"):
			v = armed
		case v == armed && strings.HasSuffix("· Esc to cancel", line): // a narrow terminal broke it off
		case strings.HasPrefix(strings.ToLower(line), pressEnter):
			return stale
		case choice.MatchString(line):
			return strange
		}
	}
	switch last := lines[len(lines)-1]; {
	case atTheKeys.MatchString(last):
		return touched
	case strings.HasPrefix(last, resetsAt):
		return armed
	case !modeLine.MatchString(last):
		return strange
	}
	return v
}

// noticeIndent is how far in a line stands at least that is at the right edge:
// modes, menus and status lines begin at the left one.
const noticeIndent = 8

// isNotice reports whether a line below the composer is one of those that come
// and go at its right: how hard the model thinks, what the terminal lacks. In a
// narrow terminal what it lacks fills the line.
func isNotice(line string) bool {
	text := trim(line)
	atTheRight := strings.HasPrefix(line, strings.Repeat(" ", noticeIndent)) || strings.HasPrefix(text, "tmux focus-events off")
	return atTheRight && !choice.MatchString(text) && !strings.Contains(text, "esc to ")
}

// withoutNotices returns what else the lines below the composer say.
func withoutNotices(lines []string) []string {
	var rest []string
	for _, line := range lines {
		if line != "" && !isNotice(line) {
			rest = append(rest, trim(line))
		}
	}
	return rest
}

// spinner is a line that moves while Claude Code works. When a turn is over it
// says how long that took.
var spinner = regexp.MustCompile(`^[✻✽✶✳✢✦·*] .*(?:…|\bRetrying in )`)

// showsWork looks at the lines just above the composer. Below the spinner there
// may be a tip, or a list of what is to be done.
func showsWork(lines []string) bool {
	seen := 0
	for _, line := range slices.Backward(lines) {
		if line == "" {
			continue
		}
		if spinner.MatchString(line) {
			return true
		}
		outdented := line[0] != ' '
		if seen++; seen > 12 || outdented {
			return false
		}
	}
	return false
}

// lastTurn returns what the screen shows since the last prompt, without spaces,
// for lines are broken wherever the terminal's edge is; and whether that prompt
// stands above the screen.
func lastTurn(lines []string) (turn string, cut bool) {
	from := lastIndex(lines, func(line string) bool { return strings.HasPrefix(line, "❯") }) + 1
	return squeeze(strings.Join(lines[from:], "")), from == 0
}

// squeeze drops what a terminal adds to a text: spaces and line breaks.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// The limit's menu, as its versions write it. Escape closes it; every other key
// that does anything chooses something, and one of the choices buys.
const (
	menuHead = "What do you want to do? ❯ 1. Stop and wait for limit to reset"
	menuFoot = "Enter to confirm · Esc to cancel"
)

var (
	menuNumber = regexp.MustCompile(` \d\. `)
	menuChoice = regexp.MustCompile(
		`^(?:Wait here, then continue automatically [^❯]+|Upgrade your plan|Add funds to continue with [^❯]+|Request more|Switch to [^❯]+)$`)
)

// longestMenu is how many rows of it there may be, where each choice takes two.
const longestMenu = 20

// isLimitMenu reports whether the screen ends with that menu and nothing else.
// A narrow terminal breaks its lines, a low one shows the first choice alone.
func isLimitMenu(lines []string) bool {
	var rows []string
	for _, line := range slices.Backward(lines) {
		if isEdge(line) {
			break
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
	if !headed || !footed {
		return false
	}
	choices := menuNumber.Split(text, -1)
	return choices[0] == "" && !slices.ContainsFunc(choices[1:], func(choice string) bool { return !menuChoice.MatchString(choice) })
}
