package gemini

import (
	"strings"

	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// printed is a record of a run that prints JSON.
type printed struct {
	Type     string  `json:"type"`
	Status   string  `json:"status"`
	Message  string  `json:"message"` // of an error before the result
	Response *string `json:"response"`
	Error    *struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"error"`
}

var (
	// plainError is the end of a failed run's text: these lines contain nothing else, and only advice follows.
	plainError = lazy.Regexp(`(?:^|\n)(\[API Error: [^\n]*(?:\n[^\n]+){0,3}?\])(?:\nPlease [^\n]+){0,2}\s*$`)

	// gaveUp is the message of a failed run on its standard error. Details that are indented follow.
	gaveUp = lazy.Regexp(`(?m)^Error when talking to Gemini API .*\.json (?:\w+: )?(.*(?:\n[^\s{}].*){0,3})`)

	// crashed is the last line of a run that failed.
	crashed = lazy.Regexp(`(?:^|\n)An unexpected critical error occurred:[^\n]*\s*$`)
)

// failedRun returns why a run failed, as its output says; of class none: it does not. The chat never contains it.
func failedRun(limits limit.Reader, run headless.Printed) (v limit.Verdict, words string) {
	refusal := refusalIn(run)
	if refusal == nil {
		return v, ""
	}
	words = refusal.Text
	if !strings.HasPrefix(words, apiError) {
		refusal.Text = apiError + ": " + words + "]"
	}
	return verdict(limits, *refusal), words
}

// refusalIn returns the refusal that ended a run; nil: its output contains none.
func refusalIn(run headless.Printed) *limit.Refusal {
	for _, stream := range []string{run.Stdout, run.Stderr} {
		if refusal, over := result(stream); over {
			return refusal
		}
	}
	if m := plainError().FindStringSubmatch(run.Stdout); m != nil {
		return &limit.Refusal{Text: m[1]}
	}
	said := run.Stderr
	if said == "" && crashed().MatchString(run.Stdout) { // both streams are one
		said = run.Stdout
	}
	if m := gaveUp().FindStringSubmatch(said); m != nil {
		return &limit.Refusal{Text: m[1]}
	}
	return nil
}

// result returns the refusal in the last result of a run, and whether it prints one at all.
func result(text string) (refusal *limit.Refusal, over bool) {
	var message string
	for data := range headless.Records(text) {
		switch p, _ := lines.Parse[printed](data); {
		case p.Type == "error":
			message = p.Message
		case p.Error != nil && (p.Type == "" || p.Type == "result"):
			refusal, over = &limit.Refusal{Status: p.Error.Code, Text: p.Error.Message}, true
		case p.Type == "result" && p.Status == "error":
			refusal, over = &limit.Refusal{Text: message}, true
		case p.Type == "result" && p.Status != "", p.Response != nil:
			refusal, over = nil, true
		}
	}
	return refusal, over
}
