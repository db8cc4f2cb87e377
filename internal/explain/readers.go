package explain

import (
	"resumed/internal/explain/claude"
	"resumed/internal/explain/codex"
	"resumed/internal/explain/copilot"
	"resumed/internal/explain/gemini"
	"resumed/internal/explain/kimi"
	"resumed/internal/explain/opencode"
	"resumed/internal/explain/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
)

// readers returns all readers, by the name of their agent. Agents without one are explained only by their transcripts.
func readers(limits limit.Reader) map[string]recording.Reader {
	all := make(map[string]recording.Reader)
	for _, newReader := range []func(limit.Reader) recording.Reader{
		claude.New, codex.New, copilot.New, gemini.New, kimi.New, opencode.New, qwen.New,
	} {
		r := newReader(limits)
		all[r.Name] = r
	}
	all[opencode.Kilo] = opencode.New(limits)
	return all
}

// databases is an agent that recognises its databases by their names.
type databases interface {
	// HasDatabase reports whether path has the name of a database of the agent.
	HasDatabase(path string) bool
}
