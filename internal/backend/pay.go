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
	if err != nil {
		return view.Session{}, err
	}
	if isPaying(session) { // it may be another order's, which is not on disk yet
		return b.opts.View(session), b.opts.Store.Sync(ctx, key)
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
	if err != nil || isPaying(session) {
		return session, err
	}
	if !b.opts.OwnKey.Offers(key.Agent) {
		return session, fmt.Errorf("own_key_file is not set for %s: without it no session can use your own key", key.Agent)
	}
	why := session.WhyNotOwnKey(time.Now())
	if why == "" {
		_, why = b.opts.Deliver.WhyNotOwnKey(ctx, session)
	}
	if why != "" {
		return session, errors.New(why)
	}
	return b.opts.Deliver.Price(ctx, b.opts.Settings().Agents[key.Agent], session), nil
}

// isPaying reports whether a session is being continued with its user's own key. One that works again,
// or was given up, is not, although its next resume would be.
func isPaying(s resume.Session) bool {
	return s.Paid != nil && (s.State == resume.Waiting || s.State == resume.Resuming || s.State == resume.Settling)
}
