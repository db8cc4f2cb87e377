package deliver

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// environment is the environment of a command.
type environment struct {
	base       []string // the environment of the session's process if it is known, else the daemon's own
	set, unset []string // the change to it
	had        []string // the names of the variables that the session had
	limits     resume.ProcessLimits
	leftOut    []leash.Omission // what the command does not have as the session had it
}

// environment returns the environment of a plan's command, or why the command may not run: it would
// have more permissions than the session had, or use another account. A command that only hands a
// message to the session's own process is not checked.
func (v *delivery) environment(plan *agent.Command) (environment, *resume.NotSent) {
	configured, err := v.settings.Env(v.session.Key.Agent)
	if err != nil {
		return environment{}, park(err.Error())
	}
	all := environment{base: os.Environ(), set: slices.Concat(plan.Env, configured), unset: plan.Unset}
	o := v.session.StartedWith()
	if o == nil || plan.Unverifiable {
		return all, nil
	}
	if o.Sandbox != "" && !plan.Inside {
		return all, park(v.outside(*o))
	}
	// The program that enters a sandbox runs on this machine, and not in it.
	enters := o.Sandbox != "" && !runsThrough(plan.Argv, o.Through)
	known := false
	if environ := v.environOf(*o); len(environ) > 0 && !enters {
		all.base, known = leash.Inherited(environ), true
	}
	missing := slices.Clone(plan.Carried.Missing)
	if leash.Hides(plan.Argv) && len(missing) == 0 {
		missing = append(missing, leash.Omission{What: "what stood before the program", Why: `it contains a secret, which is kept only with keep_env = "secrets"`})
	}
	if o.EnvSeen {
		env := v.agent.Variables().Carry(*o, slices.Concat(all.base, plan.Env), configured)
		if enters {
			env = env.Without(leash.Places)
		}
		env.Set = childenv.WithPath(os.Environ(), env.Set, plan.Env)
		for _, lost := range env.Missing {
			if plan.Spare == nil || !plan.Spare(lost.What) {
				missing = append(missing, lost)
				continue
			}
			env.Unset = append(env.Unset, lost.What) // the daemon has another value
		}
		all.set = append(childenv.Without(all.set, env.Unset...), env.Set...)
		all.unset, all.had = slices.Concat(plan.Unset, env.Unset), childenv.Names(env.Set)
	}
	if !enters {
		all.limits = o.Limits
		if !known && o.Others != nil {
			if notSent := v.withoutValues(*o, &all); notSent != nil {
				return all, notSent
			}
		}
	}
	if o.Freer != "" {
		all.leftOut = append(all.leftOut, leash.Omission{What: "a resume is more restricted than the session was", Why: o.Freer})
	}
	if notSent := v.filesAreUnchanged(*o, plan, &all); notSent != nil {
		return all, notSent
	}
	if len(missing) > 0 {
		return all, park(sanitize.Short(leash.Refusal(missing), sanitize.Sentence) + "; " + v.byHand())
	}
	if o.Login != "" && v.agent.Login(all.environ(), o.Salt) != o.Login {
		return all, park("another account would be used: you are signed in as a different user than when the session ran; sign in as before, or " + v.byHand())
	}
	return all, nil
}

// environOf returns the environment of the session's process with its values; nil: they are lost.
func (v *delivery) environOf(o resume.Origin) []string {
	if len(o.Environ) > 0 {
		return o.Environ
	}
	if start, ok := v.opts.Starts.Get(v.session.Key); ok && start.Origin.Process == o.Process && start.Origin.Salt == o.Salt {
		return start.Origin.Environ
	}
	return nil
}

// withoutValues is for a session whose values are lost, such as after a reboot: what it did not have is
// removed, and what is not as it had it is told, or parks the session.
func (v *delivery) withoutValues(o resume.Origin, all *environment) *resume.NotSent {
	lost, added := v.agent.Variables().Changed(o, all.environ())
	set := childenv.Names(all.set)
	added = slices.DeleteFunc(added, func(name string) bool { return slices.Contains(set, name) })
	all.unset = append(all.unset, added...)
	if len(lost) == 0 {
		return nil
	}
	const why = "the values that the session had are lost since a restart, and yours differ"
	all.leftOut = append(all.leftOut, leash.Omission{What: "variables " + strings.Join(lost, ", "), Why: why})
	if v.settings.ChangedEnv == ParkChanged || v.settings.ChangedEnv != TellChanged && slices.ContainsFunc(lost, leash.ChoosesTarget) {
		if v.session.RetryAskedAt.IsZero() {
			return park(v.session.AskToContinue(sanitize.Short(strings.Join(lost, ", "), sanitize.Sentence) + ": " + why))
		}
	}
	return nil
}

// filesAreUnchanged tells which files of the session's flags have changed since its start. It parks a
// session that does not ask before it acts.
func (v *delivery) filesAreUnchanged(o resume.Origin, plan *agent.Command, all *environment) *resume.NotSent {
	changed := leash.ChangedFiles(o)
	if len(changed) == 0 {
		return nil
	}
	const why = "changed since the session was started"
	all.leftOut = append(all.leftOut, leash.Omission{What: strings.Join(changed, ", "), Why: why})
	if plan.Asks || !v.session.RetryAskedAt.IsZero() {
		return nil
	}
	return park(v.session.AskToContinue(strings.Join(changed, ", ") + " " + why))
}

// startWasSeen refuses a session whose start cannot be repeated: it may have had flags, variables or a
// sandbox that restricted it, and would continue without them. A session that is open in its own
// process has them.
func (v *delivery) startWasSeen(plan agent.Plan) *resume.NotSent {
	if v.owner != nil || v.session.Allowed || v.settings.Unseen == SameMode || plan.Run == nil && plan.Send == nil {
		return nil
	}
	run := plan.Run
	switch seen := v.session.StartedWith().Seen(); {
	case run != nil && (run.Fixed || run.PlanOnly || run.Unverifiable):
		return nil
	case run != nil && seen && run.Unproven != "":
		return &resume.NotSent{Why: v.session.AskToContinue(run.Unproven), Then: resume.ParkUnseen}
	case seen:
		return nil
	default:
		return &resume.NotSent{Why: v.session.AskToContinue(notSeen), Then: resume.ParkUnseen}
	}
}

// notSeen is the reason for a session whose start cannot be repeated.
const notSeen = "its start was not seen: its flags, variables and sandbox are not known"

// runsThrough reports whether a command begins with the words that stood before the session's own
// program.
func runsThrough(argv, through []string) bool {
	return len(through) > 0 && len(argv) >= len(through) && slices.Equal(argv[:len(through)], through)
}

// environ returns the whole environment.
func (e environment) environ() []string {
	return append(childenv.Without(e.base, e.unset...), e.set...)
}

// outside is the reason for a session that ran in a sandbox, while the command would not.
func (v *delivery) outside(o resume.Origin) string {
	return fmt.Sprintf("it ran in a sandbox (%s) and would be continued outside it: %s in there, or make command of [[agent]] the way in (resume, for an agent of your own)",
		sanitize.Short(o.Sandbox, sanitize.Sentence), v.byHand())
}

// byHand says what a person can do instead.
func (v *delivery) byHand() string {
	if line := v.agent.GoOn(v.session); line != "" {
		return "go on with: " + line
	}
	return "go on by hand"
}
