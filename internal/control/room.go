package control

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoRoom says that there was no room in time.
var ErrNoRoom = errors.New("there is still no room")

// lookAgain is the longest time between two looks at the accounts.
const lookAgain = 10 * time.Second

// Room is what a script waits for: no limit stops the account, and less than Below percent of each window
// is used.
type Room struct {
	Account string // empty: every account
	Below   float64
}

// Means reports whether it is about an account.
func (r Room) Means(a Account) bool {
	return r.Account == "" || r.Account == a.String() || r.Account == a.Name
}

// Await returns when there is room; ErrNoRoom: not in time. A timeout of 0 is none.
func (c *Client) Await(ctx context.Context, room Room, timeout time.Duration) error {
	late := make(<-chan time.Time)
	if timeout > 0 {
		late = time.After(timeout)
	}
	for {
		status, err := c.Status(ctx, false)
		if err != nil {
			return err
		}
		next, err := room.full(status)
		if err != nil || next.IsZero() {
			return err
		}
		select {
		case <-time.After(min(lookAgain, max(time.Until(next), time.Second/5))):
		case <-late:
			return ErrNoRoom
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// full returns when to look again; zero: there is room.
func (r Room) full(status Status) (next time.Time, err error) {
	known := false
	for _, a := range status.Accounts {
		if !r.Means(a) {
			continue
		}
		known = true
		if a.State != "closed" {
			next = status.Now.Add(lookAgain)
		}
		for _, window := range a.Windows {
			if window.Used >= r.Below && window.ResetsAt.After(status.Now) {
				next = window.ResetsAt
			}
		}
	}
	if !known && r.Account != "" {
		return next, fmt.Errorf("no account is called %q: `resumed status` lists them", r.Account)
	}
	return next, nil
}
