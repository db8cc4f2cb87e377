package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/config"
	"resumed/internal/fleet"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// Hold takes the lease of a session on a file system that other machines write to as well.
func (c *Client) Hold(ctx context.Context, s resume.Session) (*fleet.Hold, *resume.NotSent) {
	m := c.current()
	if m == nil && c.opts.Settings().Fleet.URL == "" || c.opts.Network(s.Transcript) == "" {
		return nil, nil
	}
	if m == nil {
		problem := c.Problem()
		why := "other machines can see it too, and " + cmp.Or(problem, "this host is still joining its fleet")
		notSent := &resume.NotSent{Why: why}
		if problem != "" {
			notSent.Then = resume.NeedsOrder
		}
		return nil, notSent
	}
	takeOver := m.config.Takeover == config.TakeoverAuto || !s.RetryAskedAt.IsZero()
	held, err := m.fleet.Hold(ctx, shortHash(s.Key.String()), takeOver)
	_, elsewhere := errors.AsType[*fleet.ElsewhereError](err)
	switch gone, _ := errors.AsType[*fleet.GoneError](err); {
	case err == nil:
		return held, nil
	case gone != nil:
		why := fmt.Sprintf("%v; make sure that it does not run there, then `resumed retry %s` continues it here", gone, s.Name)
		return nil, &resume.NotSent{Why: why, Then: resume.Park}
	default:
		notSent := &resume.NotSent{Why: "other machines can see it too: " + err.Error()}
		if elsewhere { // an order of now does not permit to take the session over later, when that host is gone
			notSent.Then = resume.NeedsOrder
		}
		return nil, notSent
	}
}

// Share publishes a notice about a shared account, so that it is reported once.
func (c *Client) Share(ctx context.Context, notice notify.Notice) bool {
	m := c.current()
	if m == nil {
		return false
	}
	event, id := string(notice.Event), ""
	var reset, window time.Time
	switch a := notice.Allowance; {
	case a != nil:
		id = m.identities.Known(resume.AccountKey{Name: notice.Account, Provider: notice.Provider})
		event = fmt.Sprintf("%s.%s.%.0f", event, a.Window, a.Percent)
		window = a.ResetsAt.Round(10 * time.Minute) // each host reads the end of the same window from its own agent
	case len(notice.Sessions) > 0:
		first := notice.Sessions[0]
		id = m.identities.Await(ctx, resume.Session{
			Key: first.Key(), Account: notice.Account, Provider: notice.Provider, Transcript: first.Transcript,
		})
		if first.ResetAt != nil {
			reset = *first.ResetAt
		}
		window = m.fleet.Known()[id].Window(reset)
	}
	if id == "" {
		return false // its account is not known
	}
	data, err := facts(notice, reset)
	return err == nil && m.fleet.Tell(ctx, fleet.NoticeID(id, event, window), data)
}

// engineTimeout bounds how long the engine may take to count.
const engineTimeout = 10 * time.Second

// waiting counts the sessions of this host that wait.
func (m *membership) waiting() (n int) {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	tallies, _ := m.opts.Engine.Tallies(ctx) // an engine that stops returns nothing
	for _, t := range tallies {
		n += t[resume.Waiting]
	}
	return n
}
