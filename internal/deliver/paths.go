package deliver

import (
	"os"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// excludes checks the path that links lead to; the rules check the one in the transcript.
func (s Settings) excludes(dir string) *resume.NotSent {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // the plan says what that means
	}
	return parkFor(s.Rules.Excluded(target))
}

// distrusts parks a session if another user can have written one of these paths: the transcript
// determines what is run and with which permissions, and the agent runs programs of the directory. It
// is checked before anything is read from them.
func (s Settings) distrusts(paths ...string) *resume.NotSent {
	for _, path := range paths {
		if path == "" {
			continue // the plan says what that means
		}
		if err := s.Trust.Check(path); err != nil {
			return park("it is not used: " + err.Error())
		}
	}
	return nil
}

// replaced parks a session if its directory was replaced by another one of the same name: the work is
// not there, and the permissions were not given for it. A person may order a retry anyway.
func replaced(s resume.Session, dir string) *resume.NotSent {
	born, known := runner.BirthTime(dir)
	if !known || s.CwdBorn.IsZero() || !s.RetryAskedAt.IsZero() || dir != s.Cwd || born.Equal(s.CwdBorn) {
		return nil
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 && agent.MayComeBack(s) { // such as a disk that is not mounted
		return &resume.NotSent{Why: dir + " is empty and not the session's directory: it is continued when that is back", Then: resume.Tell}
	}
	return park(dir + " was replaced by another directory after the session stopped; retry to continue there")
}

// located finds the transcript in one of the agent's roots: a link in its path may have changed.
func (d *Deliverer) located(s resume.Session) resume.Session {
	a := d.opts.Settings().Agent(s.Key.Agent)
	if a == nil || agent.Watches(a, s.Transcript) {
		return s
	}
	target, err := filepath.EvalSymlinks(s.Transcript)
	if err != nil {
		return s
	}
	for _, src := range agent.SourcesOf(a) {
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
