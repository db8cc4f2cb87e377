package deliver

import (
	"fmt"
	"os"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// environment is the change to the daemon's own environment for a command.
type environment struct {
	set, unset []string
	had        []string // the names of the variables that the session had
}

// environment returns the environment of a plan's command, or why the command may not run: it would
// have more permissions than the session had, or use another account. A command that only hands a
// message to the session's own process is not checked.
func (v *delivery) environment(plan *agent.Command) (environment, *resume.NotSent) {
	configured, err := v.settings.Env(v.session.Key.Agent)
	if err != nil {
		return environment{}, park(err.Error())
	}
	all := environment{set: slices.Concat(plan.Env, configured), unset: plan.Unset}
	o := v.session.StartedWith()
	if o == nil || plan.Unverifiable {
		return all, nil // the agent decides what to do if the start was not seen
	}
	if o.Sandbox != "" && !plan.Inside {
		return all, park(v.outside(*o))
	}
	missing := slices.Clone(plan.Carried.Missing)
	if leash.Hides(plan.Argv) && len(missing) == 0 {
		missing = append(missing, leash.Omission{What: "what stood before the program", Why: `it contains a secret, which is kept only with keep_env = "secrets"`})
	}
	if o.EnvSeen {
		env := v.agent.Variables().Carry(*o, slices.Concat(os.Environ(), plan.Env), configured)
		if o.Sandbox != "" && !runsThrough(plan.Argv, o.Through) {
			env = env.Without(leash.Places) // the program that enters the sandbox runs on this machine
		}
		env.Set = childenv.WithPath(os.Environ(), env.Set, plan.Env)
		for _, lost := range env.Missing {
			if plan.Spare == nil || !plan.Spare(lost.What) {
				missing = append(missing, lost)
				continue
			}
			env.Unset = append(env.Unset, lost.What) // the daemon has another value
		}
		all = environment{
			set: append(childenv.Without(all.set, env.Unset...), env.Set...), unset: slices.Concat(plan.Unset, env.Unset), had: childenv.Names(env.Set),
		}
	}
	if len(missing) > 0 {
		return all, park(sanitize.Short(leash.Refusal(missing), sanitize.Sentence) + "; " + v.byHand())
	}
	if o.Login != "" && v.agent.Login(all.environ(), o.Salt) != o.Login {
		return all, park("another account would be used: you are signed in as a different user than when the session ran; sign in as before, or " + v.byHand())
	}
	return all, nil
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
	return append(childenv.Without(os.Environ(), e.unset...), e.set...)
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
