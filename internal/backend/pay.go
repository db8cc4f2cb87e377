package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// pay makes a session continue with its user's own key, or returns why it cannot. Only the socket can
// call it, which only the user can use: no button of a notice, no page and no other host can.
func (b *Backend) pay(ctx context.Context, key resume.Key) (view.Session, error) {
	session, err := b.payable(ctx, key)
	if err != nil || session.Paid != nil {
		return b.opts.View(session), err
	}
	after, err := b.opts.Engine.Apply(ctx, key, resume.Pay{})
	if err != nil {
		return view.Session{}, err
	}
	if after.Paid == nil {
		return view.Session{}, errors.New("the session changed in the meantime: look at resumed status, and ask again")
	}
	b.opts.Log.Info("ordered by a person", "order", control.OwnKey, "session", key.ID, "agent", key.Agent)
	return b.opts.View(after), b.opts.Store.Sync(ctx, key)
}

// payable returns a session that can continue with its user's own key now, or does so already, or the
// reason why it cannot.
func (b *Backend) payable(ctx context.Context, key resume.Key) (resume.Session, error) {
	session, err := b.opts.Engine.Session(ctx, key)
	if err != nil || session.Paid != nil {
		return session, err
	}
	if !b.opts.OwnKey.Offers(key.Agent) {
		return session, fmt.Errorf("own_key_file is not set for %s: without it no session can use your own key", key.Agent)
	}
	why := session.Unpayable(time.Now())
	if why == "" {
		_, why = b.opts.Deliver.Unpayable(ctx, session)
	}
	if why != "" {
		return session, errors.New(why)
	}
	return b.opts.Deliver.Price(ctx, b.opts.Settings().Agents[key.Agent], session), nil
}
