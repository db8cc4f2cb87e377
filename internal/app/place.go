package app

import (
	"fmt"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// untouchable says that the directory is one that the user does not want to be
// touched, by whatever name. The rules know it by the name in the transcript.
func (d *daemon) untouchable(dir string) *resume.NotSent {
	d.mu.Lock()
	rules := d.rules
	d.mu.Unlock()
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // the plan says what that means
	}
	if why := rules.Excluded(target); why != "" {
		return &resume.NotSent{Why: why, Park: true}
	}
	return nil
}

// located returns the session with its transcript by the name that it has in one
// of its agent's roots: what is a link on the way to it may be another one than
// when it was read.
func (d *daemon) located(s resume.Session) resume.Session {
	a := d.agentOf(s.Key.Agent)
	if a == nil || agent.Watches(a, s.Transcript) {
		return s
	}
	target, err := filepath.EvalSymlinks(s.Transcript)
	if err != nil {
		return s
	}
	for _, src := range a.Sources() {
		root, err := filepath.EvalSymlinks(src.Root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			s.Transcript = filepath.Join(src.Root, rel)
			return s
		}
	}
	return s
}

// replaced says that another directory has the name of the session's own: its
// work is not there, and its permissions were not given for that. A person who
// asks for a try all the same gets it.
func replaced(s resume.Session, dir string) string {
	born, known := runner.BirthTime(dir)
	if !known || s.CwdBorn.IsZero() || !s.RetryAskedAt.IsZero() || dir != s.Cwd || born.Equal(s.CwdBorn) {
		return ""
	}
	return fmt.Sprintf("another directory has taken the place of %s since the session was stopped; retry to go on there", dir)
}
