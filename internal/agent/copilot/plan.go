package copilot

import (
	"cmp"
	"context"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a run without a terminal of the same
// session in its directory, in its last mode and with the flags that it was started with. The
// session keeps its model by itself. What was allowed is in no event but where it was changed: a
// session whose start nobody saw is allowed nothing.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), nil
	}
	e, err := a.endOf(ctx, s, w)
	if plan, stands, err := agent.Standing(s, e.last, err); !stands {
		return plan, err
	}
	left := e.within(s.StartedWith())
	chosen, newer := e.chosen()
	if o := s.StartedWith(); e.asks() && o != nil && slices.ContainsFunc(o.Env, func(v resume.Variable) bool { return v.Name == allowAll }) {
		return agent.Parked("it was started with %s and was told to ask since: go on there", allowAll), nil
	}
	carried, _ := a.Carry(s, newer...)
	carried.LeftOut = append(carried.LeftOut, left...)
	args := slices.Concat([]string{"--resume", s.Key.ID}, chosen, carried.Args)
	return a.Run(s, s.Cwd, carried, leash.WithValue(args, "-p", "--prompt", w.Prompt)...), nil
}

// end is how the events of a session end.
type end struct {
	last       resume.Event // beside prompts of our own; nil: nothing happened
	mode       string       // of the agent: interactive, plan, autopilot; empty: not told
	permission string       // what is allowed without asking, where that was changed; empty: as it was started
}

// modes are ordered by what they allow without a question, least first.
var modes = []string{"plan", "interactive", "autopilot"}

// within leaves the mode to the flags of the start where the events tell of one that allows more.
func (e *end) within(o *resume.Origin) (left []leash.Omission) {
	if o == nil || !o.ArgsSeen {
		return nil
	}
	line := flags.Parse(o.Args)
	start := cmp.Or(line.Value("--mode"), "interactive")
	switch {
	case line.Has("--plan"):
		start = "plan"
	case line.Has("--autopilot"):
		start = "autopilot"
	}
	if slices.Index(modes, e.mode) <= slices.Index(modes, start) {
		return nil
	}
	left = []leash.Omission{{What: e.mode, Why: "the session was started with less: continued in " + start}}
	e.mode = ""
	return left
}

// asks reports whether a person has taken back what the session was allowed.
func (e end) asks() bool { return e.permission == "manual" || e.permission == "assisted" }

// chosen returns what the session was last told to do. newer are the flags that its start
// need not tell any more.
func (e end) chosen() (args, newer []string) {
	newer = []string{"--model"} // the session has its own
	if e.mode != "" {
		newer = append(newer, "--mode", "--plan", "--autopilot")
	}
	if e.mode == "plan" || e.mode == "autopilot" {
		args = append(args, "--mode", e.mode)
	}
	if e.asks() {
		newer = append(newer, "--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo")
	}
	return args, newer
}

// endOf reads how the events of a session end.
func (a *Agent) endOf(ctx context.Context, s resume.Session, w agent.Words) (e end, err error) {
	e.last, err = agent.EndOf(ctx, s, w, func(line agent.Line) (resume.Event, string) {
		r, ok := parse(line.Data)
		if !ok || r.aside() {
			return nil, ""
		}
		e.note(r)
		return r.event(a.Limits, line.ModTime), r.Data.Content
	}, func(resume.Event) bool { return true })
	return e, err
}

// note takes in what an event says of modes, unless a later one did.
func (e *end) note(r record) {
	switch {
	case r.Type == permitted && e.permission == "":
		e.permission = r.Data.Permission
	case r.Type == moded && e.mode == "":
		e.mode = r.Data.NewMode
	case r.Type == prompt && e.mode == "":
		e.mode = r.Data.AgentMode
	}
}
