package deliver

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runenv"
)

func (v *delivery) environment(plan *agent.Command) (runenv.Environment, *resume.NotSent) {
	configured, err := v.settings.Env(v.session.Key.Agent)
	if err != nil {
		return runenv.Environment{}, park(err.Error())
	}
	return runenv.Of(runenv.Request{
		Session: v.session, Agent: v.agent, Command: plan,
		Daemon: os.Environ(), Configured: configured, Values: v.environOf, Changed: v.settings.ChangedEnv,
	})
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

// notSeen is the reason for a session whose start cannot be repeated.
const notSeen = "its start was not seen: its flags, variables and sandbox are not known"

// startWasSeen refuses a session whose start cannot be repeated: it may have had flags, variables or a
// sandbox that restricted it, and would continue without them. A session that is open in its own
// process has them.
func (v *delivery) startWasSeen(ctx context.Context, plan agent.Plan) *resume.NotSent {
	if v.owner != nil || v.settings.SameMode {
		return nil
	}
	o, run, why, in := v.session.StartedWith(), plan.Run, notSeen, resume.Permission{}
	if run != nil {
		in = run.Permission
	}
	switch {
	case run != nil && (run.Fixed || run.PlanOnly || run.Unverifiable || run.AnyFlags && o != nil && o.EnvSeen):
		return nil
	case plan.Skip != nil && v.session.Allowed != nil:
		return nil
	case plan.Skip != nil && plan.Skip.NoProgram && !o.Seen(): // a person is asked once, for both
		why = plan.Skip.Why + "; " + notSeen
	case run == nil && plan.Send == nil:
		return nil
	case !o.Seen():
	case run != nil && run.Unproven != "":
		why = run.Unproven
	default:
		return nil
	}
	if word := v.session.Allowed; word != nil {
		if word.For == nil && v.records {
			v.session = v.note(ctx, v.session, resume.Learned{Continues: &in})
		}
		if word.For == nil || !in.Wider(*word.For) {
			return nil
		}
		why = fmt.Sprintf("your word was for %s, and it would continue in %s now", cmp.Or(word.For.String(), "a mode that was not known"), in)
	}
	return &resume.NotSent{Why: v.session.AskToContinue(why, in), Then: resume.ParkUnseen, Offers: in}
}
