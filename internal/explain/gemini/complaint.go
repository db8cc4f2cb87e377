package gemini

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/explain/recording"
	"resumed/internal/resume"
)

var (
	attempt  = regexp.MustCompile(`^Attempt \d+ failed(?: with status (\d{3}))?[:.] (.*)$`)
	tryAgain = regexp.MustCompile(`Retrying (?:after|with backoff)`)

	// gaveUp begins the last words of a run that failed; the report's name
	// holds the time.
	gaveUp = regexp.MustCompile(`^Error when talking to Gemini API .*-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z)\.json (?:\w+: )?(.*)$`)

	detail = regexp.MustCompile(`^ +(status|code|reason): '?(\w+)'?,?$`)
)

// reportTime is how the time is written in a report's name.
const reportTime = "2006-01-02T15-04-05Z"

// reportedAt returns when a run failed, by the name of the report that it left;
// else when the recording was written.
func reportedAt(rec agent.Recording) time.Time {
	for _, text := range []string{rec.Text, rec.Beside} {
		for line := range strings.Lines(text) {
			if m := gaveUp.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				return reportTimeOf(m[1], rec.At)
			}
		}
	}
	return rec.At
}

func reportTimeOf(name string, otherwise time.Time) time.Time {
	if when, err := time.Parse(reportTime, name[:len("2006-01-02T15-04-05")]+"Z"); err == nil {
		return when
	}
	return otherwise
}

// complaints reads what a run says on its standard error.
func (l *listener) complaints(text string, beside bool) {
	lines := strings.Split(text, "\n")
	for n := 0; n < len(lines); n++ {
		tried, failed := attempt.FindStringSubmatch(lines[n]), gaveUp.FindStringSubmatch(lines[n])
		var event resume.Limited
		begin, end := n, n+1
		switch {
		case failed != nil:
			for end < len(lines) && lines[end] != "}" && lines[end] != "" && !attempt.MatchString(lines[end]) {
				end++
			}
			event = l.failed(failed[1], failed[2], lines[n+1:end])
		case tried != nil:
			if end < len(lines) && !tryAgain.MatchString(lines[n]) && tryAgain.MatchString(lines[end]) {
				end++ // the provider's words took two lines
			}
			event = l.tried(tried[1], strings.Join(append([]string{tried[2]}, lines[n+1:end]...), "\n"))
		default:
			continue
		}
		if l.kind == "" {
			l.kind = recording.RunOutput
		}
		l.told.Event, l.told.Line, l.told.Beside = event, begin+1, beside
		n = end - 1
	}
}

// tried is a failure that Gemini CLI tries again by itself. It says how long it
// waits, but not since when.
func (l *listener) tried(status, text string) resume.Limited {
	code, _ := strconv.Atoi(status) // 0 where it is not said
	event := l.of.refuse(text, code, "", l.at)
	event.InProgress = true
	event.Reset.At, event.Reset.Source, event.Reset.Rough = time.Time{}, "", false
	return event
}

// failed is the failure that a run ended with: its words, then what is known of
// it besides.
func (l *listener) failed(at, text string, more []string) resume.Limited {
	l.at, l.over = reportTimeOf(at, l.at), true
	var status int
	var reason string
	for _, line := range more {
		m := detail.FindStringSubmatch(line)
		switch {
		case m == nil && !strings.HasPrefix(line, " "):
			text += "\n" + line
		case m != nil && m[1] == "reason" && m[2] != "undefined":
			reason = m[2]
		case m != nil && m[1] != "reason" && status == 0:
			status, _ = strconv.Atoi(m[2]) // or the name of a system's error
		}
	}
	return l.of.refuse(text, status, reason, l.at)
}
