package explain

import (
	"resumed/internal/agent"
	"resumed/internal/explain/claude"
	"resumed/internal/explain/codex"
	"resumed/internal/explain/copilot"
	"resumed/internal/explain/gemini"
	"resumed/internal/explain/kimi"
	"resumed/internal/explain/opencode"
	"resumed/internal/explain/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// reader understands what one agent says elsewhere than in its transcripts, and
// knows those by their beginning.
type reader interface {
	// Recognises reports whether a file that begins with head is a transcript
	// or a database of the agent, wherever it lies. The head may end in the
	// middle of a line.
	Recognises(head []byte) bool

	// Recorded says what a recording tells, or false where it is none of the
	// agent's.
	Recorded(agent.Recording) (recording.Report, bool)

	// Printed says what the streams of a run without a terminal tell, or false
	// where they are not in a format of the agent's.
	Printed(agent.Recording) (recording.Told, bool)
}

// readers is every reader there is. An agent that has none is explained by its
// transcripts alone, which it reads itself.
var readers = map[string]func(limit.Reader) reader{
	claude.Name:   func(limits limit.Reader) reader { return claude.New(limits) },
	codex.Name:    func(limits limit.Reader) reader { return codex.New(limits) },
	copilot.Name:  func(limits limit.Reader) reader { return copilot.New(limits) },
	gemini.Name:   func(limits limit.Reader) reader { return gemini.New(limits) },
	kimi.Name:     func(limits limit.Reader) reader { return kimi.New(limits) },
	opencode.Name: func(limits limit.Reader) reader { return opencode.New(limits) },
	opencode.Kilo: func(limits limit.Reader) reader { return opencode.New(limits) },
	qwen.Name:     func(limits limit.Reader) reader { return qwen.New(limits) },
}

// readersOf returns the readers of those agents.
func readersOf(agents map[string]agent.Agent, limits limit.Reader) map[string]reader {
	of := make(map[string]reader)
	for name := range agents {
		if newReader, ok := readers[name]; ok {
			of[name] = newReader(limits)
		}
	}
	return of
}

// databases is what an agent may also be: one whose databases are known by their names.
type databases interface {
	// HasDatabase reports whether the agent gives its databases such a name.
	HasDatabase(path string) bool
}

// noter is what a reader may also be: one that knows what a transcript cannot
// tell.
type noter interface {
	// Note returns what a person should know about a transcript in which no
	// interruption was found, by the last that it tells, or nothing.
	Note(transcript string, last resume.Event) string
}

// selfContinuing is what a reader may also be: one of an agent that says in a
// transcript that it will go on by itself when the limit lifts.
type selfContinuing interface {
	// GoesOn reports whether the transcript ends with that promise.
	GoesOn(transcript string) bool
}
