package gemini

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

var (
	attempt  = regexp.MustCompile(`^Attempt \d+ failed(?: with status (\d{3}))?[:.] (.*)$`)
	tryAgain = regexp.MustCompile(`Retrying (?:after|with backoff)`)

	// gaveUp begins the last message of a failed run; the file name of the report contains the time.
	gaveUp = regexp.MustCompile(`(?m)^Error when talking to Gemini API .*-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-\d{3}Z\.json (?:\w+: )?(.*)$`)

	detail = regexp.MustCompile(`^ +(status|code|reason): '?(\w+)'?,?$`)
)

// reportedAt returns when a run failed, by the file name of its report, else when the recording was written.
func reportedAt(rec headless.Recording) time.Time {
	m := gaveUp.FindStringSubmatch(rec.Text + "\n" + rec.Beside)
	if m == nil {
		return rec.At
	}
	when, err := time.Parse("2006-01-02T15-04-05", m[1])
	if err != nil {
		return rec.At
	}
	return when
}

// complaints reads the messages for people on the standard error of a run.
func (s *stream) complaints(text string) {
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
			event = s.failed(failed[2], lines[n+1:end])
		case tried != nil:
			if end < len(lines) && !tryAgain.MatchString(lines[n]) && tryAgain.MatchString(lines[end]) {
				end++ // the provider's message has two lines
			}
			event = s.tried(tried[1], strings.Join(append([]string{tried[2]}, lines[n+1:end]...), "\n"))
		default:
			continue
		}
		s.kind = cmp.Or(s.kind, recording.RunOutput)
		s.told.Event, s.told.Line = event, begin+1
		n = end - 1
	}
}

// tried returns the event of a failure that Gemini CLI retries by itself. It prints how long it waits, but not since
// when.
func (s *stream) tried(status, text string) resume.Limited {
	code, _ := strconv.Atoi(status) // 0 if there is none
	event := refuse(s.limits, limit.Refusal{Status: code, Text: text})
	event.InProgress, event.Reset = true, limit.Reset{}
	return event
}

// failed returns the event of the failure that ended a run, from its message and details.
func (s *stream) failed(text string, details []string) resume.Limited {
	s.over = true
	refusal := limit.Refusal{Text: text}
	for _, line := range details {
		m := detail.FindStringSubmatch(line)
		switch {
		case m == nil && !strings.HasPrefix(line, " "):
			refusal.Text += "\n" + line
		case m != nil && m[1] == "reason" && m[2] != "undefined":
			refusal.Code = m[2]
		case m != nil && m[1] != "reason" && refusal.Status == 0:
			refusal.Status, _ = strconv.Atoi(m[2]) // or the name of a system error
		}
	}
	return refuse(s.limits, refusal)
}
