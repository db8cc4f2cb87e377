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

// readers returns every reader there is, by the name of its agent. An agent that has none is
// explained by its transcripts alone, which it reads itself.
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

// databases is what an agent may also be: one whose databases are known by their names.
type databases interface {
	// HasDatabase reports whether the agent gives its databases such a name.
	HasDatabase(path string) bool
}
