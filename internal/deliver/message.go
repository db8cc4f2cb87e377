package deliver

import (
	"context"
	"errors"
	"fmt"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// message sends the prompt to what holds the session, by a request of the agent's
// own.
type message struct {
	*delivery
	plan *agent.Sending
}

func (m *message) String() string { return fmt.Sprintf("sent %q to %s", m.plan.Text, m.plan.To) }

func (m *message) ready(context.Context) *resume.NotSent { return nil }

func (m *message) send(ctx context.Context) (sent bool, instead resume.Event) {
	if ok, instead := m.claimOwner(ctx); !ok {
		return false, instead
	}
	// Not ctx: a request that was begun is answered, also when the daemon stops.
	err := m.plan.Do(context.WithoutCancel(ctx))
	if refusal, ok := errors.AsType[*agent.NotSentError](err); ok {
		return false, *leaving(&agent.Leave{Why: refusal.Why, Park: refusal.Park}, m.owner)
	}
	if err != nil {
		return false, unknown("the prompt was sent, but the answer was not the expected one: " + err.Error())
	}
	m.log.Info("sent", "session", m.session.Key.ID, "agent", m.session.Key.Agent,
		"attempt", len(m.session.Attempts), "to", m.plan.To)
	return true, nil
}

// confirm has nothing to wait for: the answer was the proof.
func (m *message) confirm(ctx context.Context) resume.Event { return m.delivered(ctx, m.session) }
