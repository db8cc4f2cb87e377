package execrun

import (
	"cmp"
	"path/filepath"
	"strings"
)

// qwen is Qwen Code with --prompt: a descendant of Gemini CLI that keeps what
// failed.
type qwen struct{}

func (qwen) program() string { return "qwen" }

func (qwen) grammar() grammar { return geminiGrammar }

func (qwen) prints(l line) bool { return geminiPrints(l) }

func (qwen) prompted(l line) bool { return geminiPrompted(l) }

func (qwen) named(l line) string { return geminiNamed(l) }

func (qwen) fix(line, string) []string { return nil }

func (qwen) heard(r run) session {
	if id := cmp.Or(r.said.Session, r.id); id != "" {
		return session{id: id}
	}
	slug := strings.TrimSuffix(claudeSlug(r.dir), "-*") // it names directories in the same way
	written := writtenSince(filepath.Join(home("", ".qwen"), "projects", slug, "chats", "*.jsonl"), r.began)
	if len(written) != 1 {
		return session{}
	}
	id := strings.TrimSuffix(filepath.Base(written[0]), ".jsonl")
	if !plainID.MatchString(id) {
		return session{}
	}
	return session{id: id}
}

func (qwen) resume(l line, s session, prompt string) []string { return geminiResume(l, s.id, prompt) }

func (qwen) status(int) int { return 0 }
