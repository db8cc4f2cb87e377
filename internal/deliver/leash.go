package deliver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// surroundings are the environment that a command of the agent is given: what is
// added to the daemon's own, and what is taken away from it.
type surroundings struct {
	set, unset []string
	had        []string // the names of those that the session had
}

// leashed says why the command may not run for the session, because it would be
// freer than the session was, or ask another account; else it returns the
// environment that it runs in.
func (d *Deliverer) leashed(session resume.Session, a agent.Agent, plan *agent.Command) (surroundings, *resume.NotSent) {
	settings := d.opts.Settings()
	configured, err := settings.Env(session.Key.Agent)
	if err != nil {
		return surroundings{}, &resume.NotSent{Why: err.Error(), Then: resume.Park}
	}
	all := surroundings{set: slices.Concat(plan.Env, configured), unset: plan.Unset}
	o := session.StartedWith()
	if o == nil {
		return all, nil // the agent's room knows what that means
	}
	if o.Sandbox != "" && !plan.Inside {
		return all, &resume.NotSent{Why: outside(session, *o, a), Then: resume.Park}
	}
	missing := slices.Clone(plan.Carried.Missing)
	if leash.Hides(plan.Argv) && len(missing) == 0 {
		missing = append(missing, leash.Omission{What: "what stood before the program", Why: `it contains a secret, which is kept only with keep_env = "secrets"`})
	}
	if o.EnvSeen {
		env := a.Variables().Carry(*o, slices.Concat(os.Environ(), plan.Env), configured)
		if o.Sandbox != "" && !runsThrough(plan.Argv, o.Through) {
			env = env.Without(leash.Places) // the way in is a program of our own world
		}
		env.Set = withProgram(env.Set, plan.Env)
		for _, lost := range env.Missing {
			if plan.Spare == nil || !plan.Spare(lost.What) {
				missing = append(missing, lost)
				continue
			}
			env.Unset = append(env.Unset, lost.What) // the daemon's own is another one
		}
		all = surroundings{
			set: append(childenv.Without(all.set, env.Unset...), env.Set...), unset: slices.Concat(plan.Unset, env.Unset), had: namesOf(env.Set),
		}
	}
	if len(missing) > 0 {
		why := sanitize.Short(leash.Refusal(missing), sanitize.Sentence) + "; " + byHand(session, a)
		return all, &resume.NotSent{Why: why, Then: resume.Park}
	}
	if o.Login != "" && a.Login(all.environ(), o.Salt) != o.Login {
		why := "another account would be used: you are signed in as a different user than when the session ran; sign in as before, or " + byHand(session, a)
		return all, &resume.NotSent{Why: why, Then: resume.Park}
	}
	return all, nil
}

// withProgram returns the variables of a session with what its program needs in
// PATH: it may be another program than the one that the session was run with.
func withProgram(set, plan []string) []string {
	const name = "PATH"
	had, needs := childenv.Value(set, name), childenv.Value(plan, name)
	if had == "" || needs == "" {
		return set
	}
	ours, theirs := filepath.SplitList(os.Getenv(name)), filepath.SplitList(had)
	var before, after []string
	own := false // from here on the daemon's own directories stand
	for _, dir := range filepath.SplitList(needs) {
		switch own = own || len(ours) > 0 && dir == ours[0]; {
		case slices.Contains(theirs, dir) || slices.Contains(ours, dir):
		case own:
			after = append(after, dir)
		default:
			before = append(before, dir)
		}
	}
	path := strings.Join(slices.Concat(before, theirs, after), string(filepath.ListSeparator))
	return append(childenv.Without(set, name), name+"="+path)
}

// runsThrough reports whether a command begins with what stood before the session's
// own program.
func runsThrough(argv, through []string) bool {
	return len(through) > 0 && len(argv) >= len(through) && slices.Equal(argv[:len(through)], through)
}

// environ returns the whole environment.
func (s surroundings) environ() []string {
	return append(childenv.Without(os.Environ(), s.unset...), s.set...)
}

func namesOf(environ []string) []string {
	names := make([]string, len(environ))
	for i, entry := range environ {
		names[i], _, _ = strings.Cut(entry, "=")
	}
	return names
}

// outside says that the session lived in a world that the command would not run in.
func outside(session resume.Session, o resume.Origin, a agent.Agent) string {
	return fmt.Sprintf("it ran in a sandbox (%s) and would be continued outside it: %s in there, or make command of [[agent]] the way in (resume, for an agent of your own)",
		sanitize.Short(o.Sandbox, sanitize.Sentence), byHand(session, a))
}

// byHand is what a person can do instead.
func byHand(session resume.Session, a agent.Agent) string {
	if line := a.GoOn(session); line != "" {
		return "go on with: " + line
	}
	return "go on by hand"
}
