package attempt

import (
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
	for _, text := range []string{r.stdout, r.last} {
		if id := field(text, "session_id"); id != "" {
			return session{id: id}
		}
	}
	if r.id != "" {
		return session{id: r.id}
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

// betrayed knows that older versions print an error as if it were the answer.
func (qwen) betrayed(r run) string {
	if line := failedResult(r.last); line != "" {
		return line
	}
	if results := results(r.last, "result"); len(results) > 0 {
		return apiError(strings.TrimSpace(results[len(results)-1].Result))
	}
	return apiError(lastLine(r.last))
}

func (qwen) status(int) int { return 0 }
