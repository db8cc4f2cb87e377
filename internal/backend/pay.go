package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/control"
	"resumed/internal/limit"
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

// bank has the resets of accounts, as their providers stated them when a person asked.
type bank struct {
	asking sync.Mutex // one request at a time
	mu     sync.Mutex
	known  map[resume.AccountKey]stated
}

type stated struct {
	resets int
	at     time.Time
}

// statedFor is how long a statement is shown.
const statedFor = 24 * time.Hour

// of returns how many resets an account has, and when that was stated; nil: not known.
func (k *bank) of(account resume.AccountKey) (resets *int, at *time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.known[account]
	if !known || time.Since(s.at) > statedFor {
		return nil, nil
	}
	return &s.resets, &s.at
}

func (k *bank) put(account resume.AccountKey, resets int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[resume.AccountKey]stated)
	}
	k.known[account] = stated{resets, time.Now().UTC().Round(0)}
}

// reset asks how many resets the account of a session has. With use, it uses one and makes the session
// due. Like pay it is called for a person, by the socket.
func (b *Backend) reset(ctx context.Context, key resume.Key, use bool) (view.Session, error) {
	session, err := b.opts.Engine.Session(ctx, key)
	if err != nil {
		return view.Session{}, err
	}
	banker, ok := b.opts.Settings().Agents[key.Agent].(agent.ResetBank)
	if !ok {
		return view.Session{}, fmt.Errorf("%s has no resets in a bank", key.Agent)
	}
	b.bank.asking.Lock()
	defer b.bank.asking.Unlock()
	resets, err := banker.Banked(ctx, session)
	if err != nil {
		return view.Session{}, err
	}
	b.bank.put(session.AccountKey(), resets)
	b.opts.Wake()
	if !use {
		shown := b.opts.View(session)
		shown.Banked = &resets
		return shown, nil
	}
	switch {
	case session.Limit.Class != limit.UsageLimit || session.State != resume.Waiting && !session.NeedsPerson():
		return view.Session{}, errors.New("no usage limit stops it: no reset was used")
	case resets == 0:
		return view.Session{}, errors.New("no reset is in the bank")
	}
	if err := banker.UseReset(ctx, session, agent.ResetID(session)); err != nil {
		return view.Session{}, err
	}
	b.bank.put(session.AccountKey(), resets-1)
	b.opts.Log.Info("a reset of the usage limit was used", "account", session.AccountKey().String(), "session", key.ID, "left", resets-1)
	return b.do(ctx, "", key, control.Retry)
}
