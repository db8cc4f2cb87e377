package gemini

import (
	"resumed/internal/agent"
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
func (a *Agent) endOf(path string, ours func(record, resume.Prompted) bool) (end, error) {
	var (
		e       end
		rewound bool
		kept    map[string]bool // ids of the messages that the latest list holds
		visited int
	)
	err := agent.LinesBack(path, func(line agent.Line) bool {
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
		event, happened := a.event(r, line)
		prompted, isPrompt := event.(resume.Prompted)
		if isPrompt && e.prompt == nil {
			e.prompt = &r
			e.lost = kept != nil && !kept[r.ID] || rewound
		}
		if happened && e.last == nil && !(isPrompt && ours(r, prompted)) {
			e.last = event
		}
		if r.Type == "gemini" && e.model == "" {
			e.model = r.Model
		}
		return visited < maxEndLines && (e.last == nil || e.prompt == nil || e.model == "")
	})
	return e, err
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

const onlyExec = "a run without a terminal that fails leaves no record of why; only `resumed exec` can see that and continue it"

// Note says what a chat cannot tell.
func (a *Agent) Note(path string) string {
	none := func(record, resume.Prompted) bool { return false }
	e, err := a.endOf(path, none)
	if err != nil {
		return ""
	}
	switch _, prompted := e.last.(resume.Prompted); {
	case e.last == nil:
		return "the file holds no conversation"
	case prompted && e.lost:
		return "the last prompt was taken back unanswered: " + onlyExec
	case prompted:
		return "the last prompt has no answer: it is being worked on, or its run was killed or waits at a dialog; " + onlyExec
	default:
		return ""
	}
}
