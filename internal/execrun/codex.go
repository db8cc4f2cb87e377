package execrun

import (
	"cmp"
	"slices"
)

// codex is Codex with exec.
type codex struct{}

func (codex) program() string { return "codex" }

func (codex) grammar() grammar {
	return grammar{
		"--json": alone, "--experimental-json": alone, "--full-auto": alone, "--oss": alone, "--skip-git-repo-check": alone,
		"--dangerously-bypass-approvals-and-sandbox": alone, "--yolo": alone, "--dangerously-bypass-hook-trust": alone,
		"--ephemeral": alone, "--include-plan-tool": alone, "--search": alone, "--last": alone, "--all": alone,
		"--ignore-user-config": alone, "--ignore-rules": alone,
		"-c": one, "--config": one, "--enable": one, "--disable": one, "-m": one, "--model": one, "-p": one, "--profile": one,
		"-s": one, "--sandbox": one, "-a": one, "--ask-for-approval": one, "-C": one, "--cd": one, "--add-dir": one,
		"--local-provider": one, "--output-schema": one, "--color": one, "-o": one, "--output-last-message": one,
		"-i": one, "--image": one,
	}
}

// exec splits the line at exec, and at resume where that follows.
func (codex) exec(l line) (before, options line, resumes bool, plain []string, ok bool) {
	before, command, after := l.cut()
	if command != "exec" && command != "e" {
		return nil, nil, false, nil, false
	}
	plain = after.plain()
	if len(plain) > 0 && plain[0] == "resume" {
		resumes, plain = true, plain[1:]
	} else if len(plain) > 0 && plain[0] == "review" {
		return nil, nil, false, nil, false
	}
	return before, after, resumes, plain, true
}

func (c codex) prints(l line) bool {
	_, _, _, _, ok := c.exec(l)
	return ok
}

func (c codex) prompted(l line) bool {
	_, _, resumes, plain, _ := c.exec(l)
	if resumes && !l.has("--last") {
		plain = plain[min(1, len(plain)):]
	}
	return len(plain) > 0 && plain[0] != "-"
}

func (c codex) named(l line) string {
	_, _, resumes, plain, _ := c.exec(l)
	if resumes && !l.has("--last") && len(plain) > 0 && plainID.MatchString(plain[0]) {
		return plain[0]
	}
	return ""
}

func (codex) fix(line, string) []string { return nil }

// heard reads the id that codex prints first, in either format. Without one no
// session was begun.
func (codex) heard(r run) session {
	if r.line.has("--ephemeral") {
		return session{}
	}
	return session{id: cmp.Or(r.said.Session, r.id)}
}

// resume repeats every option: a session that is continued keeps neither its
// model nor its sandbox. What an option before exec means, it means only there.
func (c codex) resume(l line, s session, prompt string) []string {
	before, options, _, _, _ := c.exec(l)
	args := slices.Concat(before.options(), []string{"exec"}, options.options("--last", "--all", "-i", "--image"))
	return withPrompt(append(args, "resume", s.id), prompt)
}

func (codex) status(int) int { return 0 }
