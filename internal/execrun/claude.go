package execrun

import (
	"path/filepath"
	"strings"
)

// claude is Claude Code with --print.
type claude struct{}

func (claude) program() string { return "claude" }

func (claude) grammar() grammar {
	return grammar{
		"-p": alone, "--print": alone, "-c": alone, "--continue": alone, "--verbose": alone, "--fork-session": alone,
		"--dangerously-skip-permissions": alone, "--allow-dangerously-skip-permissions": alone, "--bare": alone, "--safe-mode": alone,
		"--include-partial-messages": alone, "--include-hook-events": alone, "--replay-user-messages": alone,
		"--strict-mcp-config": alone, "--mcp-debug": alone, "--no-session-persistence": alone, "--disable-slash-commands": alone,
		"--chrome": alone, "--no-chrome": alone, "--ide": alone, "--tmux": alone,
		"--model": one, "--fallback-model": one, "--permission-mode": one, "--permission-prompt-tool": one, "--session-id": one,
		"--output-format": one, "--input-format": one, "--json-schema": one, "--max-turns": one, "--max-budget-usd": one,
		"--system-prompt": one, "--system-prompt-file": one, "--append-system-prompt": one, "--append-system-prompt-file": one,
		"--settings": one, "--setting-sources": one, "--agent": one, "--agents": one, "--effort": one, "--debug-file": one,
		"-n": one, "--name": one, "--plugin-dir": one,
		"-r": maybe, "--resume": maybe, "-d": maybe, "--debug": maybe, "-w": maybe, "--worktree": maybe, "--from-pr": maybe,
		"--add-dir": many, "--allowedTools": many, "--allowed-tools": many, "--disallowedTools": many, "--disallowed-tools": many,
		"--tools": many, "--mcp-config": many, "--betas": many, "--file": many,
	}
}

func (claude) prints(l line) bool { return l.has("-p", "--print") }

func (claude) prompted(l line) bool {
	return len(l.plain()) > 0 && l.value("--input-format") != "stream-json"
}

func (claude) named(l line) string {
	id := l.value("--session-id")
	if id == "" && !l.has("--fork-session") {
		id = l.value("-r", "--resume")
		id = strings.TrimSuffix(filepath.Base(id), ".jsonl") // a transcript's path is as good
	}
	if !plainID.MatchString(id) {
		return ""
	}
	return id
}

func (c claude) fix(l line, id string) []string {
	if c.keepsNothing(l) || l.has("--session-id") || l.has("-c", "--continue", "-r", "--resume", "--from-pr") && !l.has("--fork-session") {
		return nil
	}
	return []string{"--session-id", id}
}

// keepsNothing reports whether there will be nothing to continue, or not from
// this directory.
func (claude) keepsNothing(l line) bool { return l.has("--no-session-persistence", "-w", "--worktree") }

// heard believes what claude printed; an id that it was given counts where it
// made a transcript of it, or where nobody can look.
func (c claude) heard(r run) session {
	if c.keepsNothing(r.line) {
		return session{}
	}
	if r.said.Session != "" {
		return session{id: r.said.Session}
	}
	projects := filepath.Join(home("CLAUDE_CONFIG_DIR", ".claude"), "projects")
	if !exists(projects) {
		return session{id: r.id}
	}
	if r.id != "" {
		if found, _ := filepath.Glob(filepath.Join(projects, "*", r.id+".jsonl")); len(found) > 0 {
			return session{id: r.id}
		}
	}
	// One that was continued without its id.
	written := writtenSince(filepath.Join(projects, claudeSlug(r.dir), "*.jsonl"), r.began)
	if len(written) != 1 {
		return session{}
	}
	return session{id: strings.TrimSuffix(filepath.Base(written[0]), ".jsonl")}
}

// claudeSlug is the name of the directory that keeps a directory's transcripts.
func claudeSlug(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	slug := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, dir)
	if len(slug) > 200 {
		return slug[:200] + "-*" // and a hash
	}
	return slug
}

func (claude) resume(l line, s session, prompt string) []string {
	args := l.options("-c", "--continue", "-r", "--resume", "--session-id", "--fork-session", "--from-pr",
		"--input-format", "--replay-user-messages")
	return withPrompt(append(args, "--resume", s.id), prompt)
}

func (claude) status(int) int { return 0 }
