package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Talk says how a session is continued while a live process may hold it:
// through the configured server, where nobody else does.
func (a *Agent) Talk(ctx context.Context, s resume.Session, _ resume.Owner, w agent.Words) (agent.Plan, error) {
	c, plan, stands, err := a.stands(ctx, s)
	if !stands {
		return plan, err
	}
	holders, err := a.holders(ctx, s)
	if err != nil {
		return agent.Plan{}, err
	}
	for _, p := range holders {
		// What only shows a server's sessions holds none itself.
		if attachedTo(p.Args) == "" && (a.server == nil || !a.listensAt(p.PID, a.server.String())) {
			return a.unreached(p), nil
		}
	}
	plan, _ = a.through(ctx, c, w)
	return plan, nil
}

// unreached is the plan where a process holds the session that nobody has named as
// the server: one that is a server is told, with the setting that is missing.
func (a *Agent) unreached(p process.Live) agent.Plan {
	address := a.addressOf(p.PID)
	if !isServer(p.Args) || address == "" {
		return agent.Plan{}
	}
	return agent.Plan{Leave: &agent.Leave{
		Why:  fmt.Sprintf("%s %s (process %d) holds it: %s, and it is continued through that", a.brand.program, command(p.Args), p.PID, setting(address)),
		Tell: true,
	}}
}

// known is what the server says of a session.
type known struct {
	ID        string `json:"id"`
	Directory string `json:"directory"`
	Agent     string `json:"agent"`
	Model     struct {
		ID       string `json:"id"`
		Provider string `json:"providerID"`
		Variant  string `json:"variant"`
	} `json:"model"`
}

// through says how the session is continued through the configured server. It
// returns false where there is none, or where it does not have the session.
func (a *Agent) through(ctx context.Context, c conversation, w agent.Words) (agent.Plan, bool) {
	if a.server == nil {
		return agent.Plan{}, false
	}
	s := &server{brand: a.brand, base: a.server, client: newClient()}
	defer s.client.CloseIdleConnections()
	k, err := s.session(ctx, c)
	if status, refused := errors.AsType[*statusError](err); refused && status.code == http.StatusNotFound || notConnected(err) {
		return agent.Plan{}, false
	}
	if err != nil {
		return agent.Left("the server of " + a.brand.title + " does not say how the session stands: " + err.Error()), true
	}
	if k.ID != c.id || !process.SameDir(k.Directory, c.directory) {
		return agent.Plan{}, false
	}
	busy, err := s.statuses(ctx, c.directory)
	switch st := busy[c.id]; {
	case err != nil:
		return agent.Left("the server of " + a.brand.title + " does not say how the session stands: " + err.Error()), true
	case st.kind() == retrying:
		return agent.Left(a.brand.triesAgain(st.Next)), true
	case st.Type != "" && st.kind() != over:
		return agent.Left("the server of " + a.brand.title + " works on the session"), true
	}
	return agent.Plan{Send: &agent.Sending{
		To: "the server of " + a.brand.title + " at " + a.server.Redacted(), Text: w.Prompt,
		Do: func(ctx context.Context) error { return a.prompt(ctx, k, w) },
	}}, true
}

// session returns what the server knows of a session.
func (s *server) session(ctx context.Context, c conversation) (k known, err error) {
	err = s.getJSON(ctx, "/session/"+c.id, url.Values{"directory": {c.directory}}, &k)
	return k, err
}

// notConnected reports whether a request did not even reach a server.
func notConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// prompt gives the session a prompt, once. Agent and model are named: without
// them the server takes the usual agent, which may do more than the session's.
func (a *Agent) prompt(ctx context.Context, k known, w agent.Words) error {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type model struct {
		Provider string `json:"providerID"`
		ID       string `json:"modelID"`
	}
	message := struct {
		Agent   string `json:"agent,omitempty"`
		Model   *model `json:"model,omitempty"`
		Variant string `json:"variant,omitempty"`
		Parts   []part `json:"parts"`
	}{Agent: k.Agent, Parts: []part{{"text", w.Prompt}}}
	if k.Model.ID != "" && k.Model.Provider != "" {
		message.Model, message.Variant = &model{k.Model.Provider, k.Model.ID}, k.Model.Variant
	}
	body, err := json.Marshal(message)
	if err != nil {
		return &agent.NotSentError{Why: err.Error(), Park: true}
	}

	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s := &server{brand: a.brand, base: a.server, client: newClient()}
	defer s.client.CloseIdleConnections()
	answer, err := s.ask(ctx, http.MethodPost, "/session/"+k.ID+"/prompt_async", url.Values{"directory": {k.Directory}}, body)
	switch {
	case notConnected(err):
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " does not answer: " + err.Error()}
	case err != nil:
		return err
	}
	defer answer.Body.Close()
	refusal := &statusError{"POST prompt_async", answer.StatusCode}
	switch answer.StatusCode / 100 {
	case 2:
		return nil
	case 4:
		return &agent.NotSentError{Why: "the server of " + a.brand.title + " refused the prompt: " + refusal.Error(), Park: true}
	default:
		return refusal
	}
}
