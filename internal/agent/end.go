package agent

import (
	"context"
	"strings"

	"resumed/internal/resume"
)

// maxEndLines bounds how far back a transcript is looked through.
const maxEndLines = 20_000

// EndOf reads how the transcript of a session ends, and returns the last thing that
// happened; nil: nothing did. Prompts of our own are passed over: one that was cut off
// leaves its prompt behind, and nothing has moved. tell takes in a line and says what
// happened there, nil where nothing did, and what a prompt said; more reports whether
// earlier lines are wanted.
func EndOf(ctx context.Context, s resume.Session, w Words, tell func(Line) (resume.Event, string), more func(last resume.Event) bool) (last resume.Event, err error) {
	visited := 0
	err = LinesBack(ctx, s.Transcript, func(line Line) bool {
		visited++
		if line.Cut {
			return visited < maxEndLines
		}
		event, said := tell(line)
		prompt, isPrompt := event.(resume.Prompted)
		ours := isPrompt && (SentByUs(s, prompt.At) || strings.TrimSpace(said) == strings.TrimSpace(w.Prompt))
		if last == nil && !ours {
			last = event
		}
		return visited < maxEndLines && more(last)
	})
	return last, err
}
