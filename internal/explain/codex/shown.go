package codex

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent/codex/rollout"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// From the end of a screen backwards: model and directory, the composer or a question, the conversation.
func (r reader) shown(rec headless.Recording) (recording.Told, bool) {
	rows := strings.Split(rec.Text, "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " \t\r\u00a0")
	}
	end, footer, ok := composerOf(rows)
	if !ok {
		return recording.Told{}, false
	}
	rec.At = r.shownAt(rec, rows[:end])
	told := recording.Told{}
	for _, b := range blocksOf(rows[:end]) {
		event, working := r.shows(b, rec)
		if event != nil && (working || !told.Working) { // below the progress line there are only queued prompts
			told.Event, told.Working, told.Line = event, working, b.Line
		}
	}
	if m := place().FindStringSubmatch(footer); m != nil {
		told.Cwd = m[2]
	}
	return told, true
}

var (
	// place is the line with the model and the directory, below the composer.
	place = lazy.Regexp(`(?m)^  (\S.*?) · ([/~]\S*)(?:  |$)`)

	hints = lazy.Regexp(`\? for shortcuts|\bcontext left\b|← for agents|⏎ send|\besc to (?:interrupt|edit)\b`)

	// asks is at the end of a screen with a question instead of the composer.
	asks = lazy.Regexp(`(?i)^ *(?:press )?enter (?:to )?(?:select|confirm|continue|submit)\b.*\besc\b`)

	title  = lazy.Regexp(`(?m)^[ │╭]*>_ OpenAI Codex \(v\d`)
	choice = lazy.Regexp(`^› \d+\. `)
)

var workedUntil = lazy.Regexp(`^ +Worked for .+ • (\d\d):(\d\d)$`)

// shownAt returns when the screen was captured, by the last clock time on it.
func (r reader) shownAt(rec headless.Recording, rows []string) time.Time {
	for _, row := range slices.Backward(rows) {
		if m := workedUntil().FindStringSubmatch(row); m != nil {
			hour, _ := strconv.Atoi(m[1]) // two digits
			minute, _ := strconv.Atoi(m[2])
			return recording.LastShown(rec, r.limits.Zone, hour, minute)
		}
	}
	return rec.At
}

const mostFooter = 12

// composerOf returns where the conversation ends, and the rows below the composer, if it is a screen of Codex.
func composerOf(rows []string) (end int, footer string, ok bool) {
	last := len(rows)
	for last > 0 && rows[last-1] == "" {
		last--
	}
	from := max(0, last-mostFooter)
	for i, row := range slices.Backward(rows[from:last]) {
		i += from
		if !strings.HasPrefix(row, "›") {
			continue
		}
		below := strings.Join(rows[i+1:last], "\n")
		switch {
		case asks().MatchString(rows[last-1]):
			return question(rows, i), "", title().MatchString(strings.Join(rows, "\n")) || choice().MatchString(row)
		case place().MatchString(below) || hints().MatchString(below):
			return i, below, true
		}
		return 0, "", false
	}
	return 0, "", false
}

// question returns the first row of a question: it is indented, with the choices below it.
func question(rows []string, choice int) int {
	for choice > 0 && (rows[choice-1] == "" || strings.HasPrefix(rows[choice-1], "  ")) {
		choice--
	}
	return choice
}

var signs = lazy.Regexp(`^([›•■⚠✗]) (.*)$`)

func blocksOf(rows []string) []recording.Block {
	begins := func(row string) (sign, words string) {
		if m := signs().FindStringSubmatch(row); m != nil && !choice().MatchString(row) {
			return m[1], m[2]
		}
		return "", ""
	}
	return recording.Blocks(rows, begins, func(string) bool { return true })
}

const interrupt = "esc to interrupt"

func (r reader) shows(b recording.Block, rec headless.Recording) (event resume.Event, working bool) {
	text := b.Text()
	switch {
	case b.Sign == "›":
		return resume.Prompted{At: rec.At}, false
	case b.Sign == "•" && strings.Contains(text, interrupt) && strings.Contains(b.Rows[0], "waiting for network"):
		// Codex waits for the network without end, so that is reported.
		v := limit.Verdict{Class: limit.Network, WaitHelps: true, InProgress: true}
		return recording.Refused(rec.At, v, text), true
	case b.Sign == "•" && strings.Contains(text, interrupt):
		return resume.Progressed{At: rec.At}, true
	case b.Sign == "•":
		return resume.Progressed{At: rec.At}, false
	case b.Sign != "■":
		return nil, false
	case strings.HasPrefix(text, "Conversation interrupted"):
		return resume.Cancelled{At: rec.At}, false
	default:
		return r.refused(rollout.Failure{Message: text}, rec.At, rollout.RateLimits{}), false
	}
}
