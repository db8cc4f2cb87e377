package qwen

import (
	"strings"

	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// result is the last record of a run that prints JSON.
type result struct {
	Type    string `json:"type"`
	IsError bool   `json:"is_error"`
	Result  string `json:"result"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// failedRun returns why a run failed, as its output says; of class none: it does not. Older versions print a failure as if
// it were the answer, and exit with 0.
func failedRun(limits limit.Reader, run headless.Printed) (v limit.Verdict, words string) {
	text := strings.TrimSpace(run.Stdout)
	words, is := plainError(text[strings.LastIndexByte(text, '\n')+1:])
	for data := range headless.Records(run.Stdout) {
		r, _ := lines.Parse[result](data)
		if r.Type != "result" {
			continue
		}
		if words, is = plainError(r.Result); !is {
			words, _ = plainError(r.Error.Message)
			is = r.IsError
		}
	}
	if !is {
		return v, ""
	}
	return telemetry{Message: words}.verdict(limits), "[API Error: " + words + "]"
}

// plainError returns the message of a text that is only the report of a failure; other texts are returned unchanged.
func plainError(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if words, ok := strings.CutPrefix(text, "[API Error: "); ok && strings.HasSuffix(words, "]") {
		return strings.TrimSuffix(words, "]"), true
	}
	return text, false
}
