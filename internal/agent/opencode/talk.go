package opencode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Talk returns how a session is continued while a live process may hold it: through the configured server, if no
// other process holds it.
func (a *Agent) Talk(ctx context.Context, s resume.Session, _ resume.Owner, w agent.Words) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Leave: leave}, err
	}
	holders, err := a.finder().Holders(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	if now.Two {
		return a.throughBackground(ctx, s, now, holders, w)
	}
	for _, p := range holders {
		// A process that only shows a server's sessions holds none itself.
		if processes.AttachedTo(p.Args) == "" && (a.server == nil || !a.finder().ListensAt(p.PID, a.server.String())) {
			return a.unreached(p), nil
		}
	}
	plan, _ := a.through(ctx, now, w)
	return plan, nil
}

// unreached returns the plan if the process that holds the session is not the configured server. If it is another
// server, people are told the missing setting.
func (a *Agent) unreached(p process.Live) agent.Plan {
	address := a.finder().Address(p.PID)
	if !processes.IsServer(p.Args) || address == "" {
		return agent.Plan{}
	}
	return agent.Plan{Leave: &agent.Leave{
		Why: fmt.Sprintf("%s %s (process %d) holds it: set server = %q in [[agent]], and it is continued through that",
			a.brand.program, processes.Command(p.Args), p.PID, address),
		Tell: true,
	}}
}

// throughBackground returns how a session of version 2 is continued: by a run that gives the prompt to the
// background server, which works on it. The session keeps its model there.
func (a *Agent) throughBackground(ctx context.Context, s resume.Session, now current, holders []process.Live, w agent.Words) (agent.Plan, error) {
	var background *server.Service
	for _, p := range holders {
		all := a.services()
		at := slices.IndexFunc(all, func(s server.Service) bool { return s.PID == p.PID })
		if at < 0 {
			return agent.Plan{}, nil // it runs without the background server, and nothing reaches it
		}
		background = &all[at]
	}
	if background == nil {
		return a.noBackground(), nil
	}
	if err := background.Check(ctx); err != nil {
		return agent.Left(fmt.Sprintf("the server of %s (process %d) does not answer: %s", a.brand.title, background.PID, err)), nil
	}
	plan := a.run(s, now, w, now.ownAgent(), []string{"--agent", "-m", "--model", "--variant"})
	if plan.Run != nil {
		plan.Run.Spare = agent.Spare(nil, providerVariables) // the server has the keys
	}
	return plan, nil
}

// noBackground returns the plan for a session of version 2 whose server does not run. A run would start one,
// which would continue other sessions too, and end with the run.
func (a *Agent) noBackground() agent.Plan {
	return agent.Plan{Leave: &agent.Leave{
		Why:  fmt.Sprintf("the server of %s 2 does not run: start it with %s service start, and the session is continued", a.brand.title, a.brand.program),
		Tell: true,
	}}
}

// through returns how the session is continued through the configured server. It returns false if there is none, or
// if it does not have the session.
func (a *Agent) through(ctx context.Context, now current, w agent.Words) (agent.Plan, bool) {
	if a.server == nil {
		return agent.Plan{}, false
	}
	client := a.client()
	defer client.Close()
	unsaid := func(err error) agent.Plan {
		return agent.Left("the server of " + a.brand.title + " does not say how the session stands: " + err.Error())
	}
	session, err := client.Session(ctx, now.ID, now.Directory)
	status, refused := errors.AsType[*server.StatusError](err)
	switch {
	case refused && status.Code == http.StatusNotFound || server.NotConnected(err):
		return agent.Plan{}, false
	case err != nil:
		return unsaid(err), true
	case session.ID != now.ID || !process.SameDir(session.Directory, now.Directory):
		return agent.Plan{}, false
	}
	statuses, err := client.Statuses(ctx, now.Directory)
	switch status := statuses[now.ID]; {
	case err != nil:
		return unsaid(err), true
	case status.Kind() == server.Retrying:
		return a.triesAgain(status), true
	case status.Type != "" && status.Kind() != server.Over:
		return agent.Left("the server of " + a.brand.title + " works on the session"), true
	}
	return agent.Plan{Send: &agent.Sending{
		To: "the server of " + a.brand.title + " at " + a.server.Redacted(), Text: w.Prompt,
		Do: func(ctx context.Context) error { return a.prompt(ctx, session, w.Prompt) },
	}}, true
}

// prompt sends a prompt to the session, once. Its error says whether certainly nothing was sent.
func (a *Agent) prompt(ctx context.Context, s server.Session, prompt string) error {
	client := a.client()
	defer client.Close()
	err := client.Prompt(ctx, s, prompt)
	if server.NotConnected(err) {
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " does not answer: " + err.Error()}
	}
	if status, refused := errors.AsType[*server.StatusError](err); refused && status.Code/100 == 4 {
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " refused the prompt: " + err.Error(), Park: true}
	}
	return err
}
