package explain

import (
	"resumed/internal/explain/claude"
	"resumed/internal/explain/codex"
	"resumed/internal/explain/copilot"
	"resumed/internal/explain/gemini"
	"resumed/internal/explain/kimi"
	"resumed/internal/explain/opencode"
	"resumed/internal/explain/pi"
	"resumed/internal/explain/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
)

// readers returns all readers, by the name of their agent. Agents without one are explained only by their transcripts.
func readers(limits limit.Reader) map[string]recording.Reader {
	all := map[string]recording.Reader{opencode.Kilo: opencode.Reader.With(limits)}
	for _, r := range []recording.Reader{
		claude.Reader, codex.Reader, copilot.Reader, gemini.Reader, kimi.Reader, opencode.Reader, pi.Reader, qwen.Reader,
	} {
		all[r.Name] = r.With(limits)
	}
	return all
}

// databases is an agent that recognises its databases by their names.
type databases interface {
	// HasDatabase reports whether path has the name of a database of the agent.
	HasDatabase(path string) bool
}
