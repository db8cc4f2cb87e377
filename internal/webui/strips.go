package webui

import (
	"context"
	"net/http"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/timeline"
)

// Bounds of one request for strips.
const (
	mostStrips       = 64
	stepsOfOne       = 1000
	stepsOfAll       = 20000
	mostAccountStrip = 100
)

// strip is the timeline of a session or an account.
type strip struct {
	Key string `json:"key"`
	timeline.Strip
}

// strips sends the timelines of a few sessions, as many as a screen shows.
func (p *Page) strips(r *http.Request) (any, error) {
	query := r.URL.Query()
	agents, ids := query["agent"], query["id"]
	if len(agents) != len(ids) || len(ids) == 0 || len(ids) > mostStrips {
		return nil, &requestError{http.StatusBadRequest, "strips are of a few sessions, each with its agent and its id"}
	}
	keys := make([]resume.Key, len(ids))
	for i := range ids {
		keys[i] = resume.Key{Agent: agents[i], ID: ids[i]}
	}
	status, own, err := p.statusAndOwnSteps(r.Context(), true, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]strip, 0, len(status.Sessions))
	for _, v := range status.Sessions {
		steps, err := p.stepsBy(r.Context(), v.Key(), status.Now, stepsOfOne)
		if err != nil {
			return nil, err
		}
		all = append(all, strip{v.Key().String(), timeline.Session(v, steps[v.Key()], own, status.Now)})
	}
	return all, nil
}

// accountStrips sends the timelines of the accounts.
func (p *Page) accountStrips(r *http.Request) (any, error) {
	status, own, err := p.statusAndOwnSteps(r.Context(), false)
	if err != nil {
		return nil, err
	}
	steps, err := p.stepsBy(r.Context(), resume.Key{}, status.Now, stepsOfAll)
	if err != nil {
		return nil, err
	}
	sessions := make(map[string][]view.Session)
	for _, v := range status.Sessions {
		name := v.AccountKey().String()
		sessions[name] = append(sessions[name], v)
	}
	all := make([]strip, 0, len(status.Accounts))
	for _, a := range status.Accounts[:min(len(status.Accounts), mostAccountStrip)] {
		all = append(all, strip{a.String(), timeline.Account(a, sessions[a.String()], steps, own, status.Now)})
	}
	return all, nil
}

func (p *Page) statusAndOwnSteps(ctx context.Context, all bool, only ...resume.Key) (status control.Status, own []control.Step, err error) {
	if status, err = p.backend.Status(ctx, all, only...); err == nil {
		own, err = p.ownSteps(ctx, status.Now)
	}
	return status, own, err
}

// stepsBy returns the steps in the span of a strip, by session.
func (p *Page) stepsBy(ctx context.Context, key resume.Key, now time.Time, most int) (map[resume.Key][]control.Step, error) {
	steps := make(map[resume.Key][]control.Step)
	for step, err := range p.backend.Steps(ctx, key, now.Add(-timeline.Reach), most) {
		if err != nil {
			return nil, err
		}
		if step.Session != "" {
			of := resume.Key{Agent: step.Agent, ID: step.Session}
			steps[of] = append(steps[of], step)
		}
	}
	return steps, nil
}

// ownSteps returns the daemon's own steps in the span of a strip.
func (p *Page) ownSteps(ctx context.Context, now time.Time) ([]control.Step, error) {
	var own []control.Step
	for step, err := range p.backend.OwnSteps(ctx, now.Add(-timeline.Reach)) {
		if err != nil {
			return nil, err
		}
		own = append(own, step)
	}
	return own, nil
}
