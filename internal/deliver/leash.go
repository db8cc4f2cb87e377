package deliver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/program"
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
	if start, ok := v.opts.Starts.Get(v.session.Key); ok && start.Process == o.Process && start.Salt == o.Salt {
		return start.Environ
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
	case run == nil:
		return nil
	case !o.Seen():
	case run.Unproven != "":
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

// programIsTrusted refuses a program that lies in the session's own directory: the agent may write there, also from a
// sandbox, and the resume runs outside of it. The word of a person counts as long as the program does not change.
func (v *delivery) programIsTrusted(plan agent.Plan) *resume.NotSent {
	if plan.Run == nil {
		return nil
	}
	files := inProject(v.session, plan.Run.Dir, plan.Run.Files)
	if len(files) == 0 {
		return nil
	}
	shows := fingerprints(files)
	if shows == v.session.Trusted {
		return nil
	}
	return &resume.NotSent{Why: v.session.AskToTrust(strings.Join(files, " and ")), Then: resume.ParkUnseen, Shows: shows}
}

// inProject returns the files that lie in a directory of the session.
func inProject(s resume.Session, dir string, files []string) []string {
	home, _ := os.UserHomeDir() // without one, all of them count
	dirs := []string{dir, s.Cwd}
	if s.Origin != nil {
		dirs = append(dirs, s.Origin.Cwd)
	}
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		return !slices.ContainsFunc(dirs, func(dir string) bool { return dir != "" && program.InProject(file, dir, home) })
	})
}

// ofProject returns what the session's own process ran from a directory of the session.
func ofProject(s resume.Session) []string {
	o := s.StartedWith()
	if o == nil {
		return nil
	}
	return inProject(s, o.Cwd, program.Found{Program: o.Program, Through: o.Through}.Files(o.Cwd))
}

func fingerprints(files []string) string {
	var all []string
	for _, file := range files {
		all = append(all, program.Fingerprint(file))
	}
	return strings.Join(all, "\n")
}
