package claude

import (
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent/claude/screen"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// shown interprets a captured screen. If no prompt can be typed it does not show a turn: Claude Code asks something,
// or has ended.
func shown(limits limit.Reader, rec headless.Recording) (recording.Told, bool) {
	s := screen.Read(rec.Text)
	if !s.Known() && !namesItself.MatchString(rec.Text) {
		return recording.Told{}, false
	}
	if !s.Known() {
		return unprompted(limits, rec), true
	}
	told := recording.Told{Working: s.Works()}
	if m := directory.FindStringSubmatch(rec.Text); m != nil {
		told.Cwd = m[1]
	}
	limits.At = shownAt(limits.Zone, rec)
	for _, b := range blocksOf(s.Above) {
		if event := shownEvent(b, limits); event != nil {
			told.Event, told.Line = event, b.Line
		}
	}
	if told.Working {
		told.Event, told.Line = resume.Progressed{At: limits.At}, 0
	}
	if l, ok := told.Event.(resume.Limited); ok && s.Waits() {
		l.InProgress = true
		told.Event = l
	}
	return told, true
}

var (
	// namesItself is what Claude Code shows if there is no prompt.
	namesItself = regexp.MustCompile(`(?m)^(?:Welcome to | ?\S{4,} +|╭─+ )Claude Code v\d|Claude Code'll be able to|ANTHROPIC_API_KEY: |^claude .*--resume [0-9a-f-]{36}$`)

	// directory is shown beside the logo at the beginning of a session.
	directory = regexp.MustCompile(`(?m)^ ?▝▝   ▝▝   (/.*)$`)
)

var (
	doneAt    = regexp.MustCompile(`(?m)^[✻✽✶✳✢✦·*] .* · done (\d{1,2}:\d\d [AP]M)$`)
	shownZone = regexp.MustCompile(`· resets .* \(([A-Za-z_]+(?:/[A-Za-z_/+-]+)?)\)`)
)

// shownAt returns when the screen was captured, by the last clock time on it. Its zone is that of a limit's reset.
func shownAt(zone *time.Location, rec headless.Recording) time.Time {
	clocks := doneAt.FindAllStringSubmatch(rec.Text, -1)
	if len(clocks) == 0 {
		return rec.At
	}
	clock, err := time.Parse("3:04 PM", clocks[len(clocks)-1][1])
	if err != nil {
		return rec.At
	}
	if m := shownZone.FindStringSubmatch(rec.Text); m != nil {
		if named, err := time.LoadLocation(m[1]); err == nil {
			zone = named
		}
	}
	return recording.LastShown(rec, zone, clock.Hour(), clock.Minute())
}

// unprompted interprets a screen on which no prompt can be typed. A first run that cannot reach its provider reports
// that there.
func unprompted(limits limit.Reader, rec headless.Recording) recording.Told {
	told := recording.Told{Leave: "it shows no prompt: Claude Code asks something, or has ended"}
	if m := resumeHint.FindStringSubmatch(rec.Text); m != nil {
		told.Session = m[1]
	}
	if !strings.HasPrefix(strings.TrimSpace(rec.Text), "Welcome to Claude Code") {
		return told
	}
	for i, line := range screen.Rows(rec.Text) {
		if v := limits.Text(line); v.Class != limit.None {
			told.Event, told.Line = recording.Refused(rec.At, v, strings.TrimSpace(line)), i+1
		}
	}
	return told
}

// resumeHint is what Claude Code prints when it ends.
var resumeHint = regexp.MustCompile(`(?m)^claude .*--resume ([0-9a-f-]{36})$`)

// signs begin each block on a screen: a prompt, output of Claude Code, the result of a tool or a turn, and progress.
var signs = regexp.MustCompile(`^ *([❯●⏺⎿✻✽✶✳✢✦·*]) ?(.*)$`)

func blocksOf(lines []string) []recording.Block {
	begins := func(line string) (sign, words string) {
		if m := signs.FindStringSubmatch(line); m != nil {
			return m[1], m[2]
		}
		return "", ""
	}
	// A line that begins with a slash is a suggested command.
	goesOn := func(line string) bool {
		return strings.HasPrefix(line, "  ") && !strings.HasPrefix(strings.TrimSpace(line), "/")
	}
	return recording.Blocks(lines, begins, goesOn)
}

// shownEvent returns the event of a block, or nil if there is nothing new: of a prompt, of Claude Code's output, or of
// the result of a tool or a turn.
func shownEvent(b recording.Block, reader limit.Reader) resume.Event {
	text := b.Text()
	notice, declined := transcript.OnContinuation(text)
	switch {
	case b.Sign == "❯" && (text == "" || strings.HasPrefix(text, "/")):
		return nil // not a prompt for the model
	case b.Sign == "❯":
		return resume.Prompted{At: reader.At}
	case !strings.Contains("●⏺⎿", b.Sign):
		return nil
	case strings.HasPrefix(text, "Interrupted"), declined:
		return resume.Cancelled{At: reader.At}
	case notice:
		return nil // the refusal itself is above it
	}
	if v := reader.Text(text); v.Class != limit.None {
		return recording.Refused(reader.At, transcript.Refusal{Text: text}.Verdict(reader), text)
	}
	if b.Sign == "⎿" {
		return nil // the result of a tool
	}
	return resume.Progressed{At: reader.At}
}
