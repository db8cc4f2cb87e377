package gemini

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// end is how a chat ends.
type end struct {
	last   resume.Event // the last that happened; nil: nothing did
	prompt *record      // the last prompt, also one that is not in the conversation any more
	lost   bool         // Gemini CLI took that prompt back out of the conversation
	model  string       // that gave the last answer
}

// maxEndLines bounds how far back a chat is looked through: in one long turn
// there may be many records since the last prompt.
const maxEndLines = 20_000

// endOf reads how a chat ends. Prompts that are ours do not count as something
// that happened.
func endOf(ctx context.Context, path string, limits limit.Reader, ours func(record, resume.Event) bool) (end, error) {
	var (
		e       end
		rewound bool
		kept    map[string]bool // ids of the messages that the latest list holds
		visited int
	)
	err := agent.LinesBack(ctx, path, func(line agent.Line) bool {
		visited++
		r, ok := parse(line.Data)
		if line.Cut || !ok {
			return visited < maxEndLines
		}
		if r.Set.Messages != nil && kept == nil {
			kept = make(map[string]bool)
			for _, message := range r.Set.Messages {
				kept[message.ID] = true
			}
		}
		rewound = rewound || r.RewindTo != ""
		event, happened := r.event(limits, line.ModTime)
		_, isPrompt := event.(resume.Prompted)
		if isPrompt && e.prompt == nil {
			e.prompt = &r
			e.lost = kept != nil && !kept[r.ID] || rewound
		}
		if happened && e.last == nil && !ours(r, event) {
			e.last = event
		}
		if r.Type == "gemini" && e.model == "" {
			e.model = r.Model
		}
		return visited < maxEndLines && (e.last == nil || e.prompt == nil || e.model == "")
	})
	return e, err
}

// LastOf returns the last that happened in a chat, or nil, and whether Gemini CLI
// took the last prompt back out of the conversation.
func LastOf(chat string) (last resume.Event, lost bool, err error) {
	e, err := endOf(context.Background(), chat, limit.Reader{}, func(record, resume.Event) bool { return false })
	return e.last, e.lost, err
}

// again returns what to say so that a prompt that was taken back is given once
// more, or false where it cannot be said on a command line.
func (r record) again() (string, bool) {
	parts := partsOf(r.Typed)
	if len(r.Typed) == 0 {
		parts = partsOf(r.Content)
	}
	for _, p := range parts {
		if len(p.Inline) > 0 || len(p.File) > 0 {
			return "", false
		}
	}
	text := textOf(parts)
	return text, text != "" && len(text) <= maxPrompt
}

// maxPrompt is less than what Linux takes as one argument.
const maxPrompt = 120 << 10
