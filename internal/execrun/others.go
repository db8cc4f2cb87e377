package execrun

import (
	"context"
	"fmt"
	"time"
)

// ownerLook is how often exec looks whether a process still holds the session.
const ownerLook = 2 * time.Second

// TakenError says that the session is left to somebody else.
type TakenError struct {
	Why  string
	GoOn string // the command with which a person continues the session; empty: not known
}

func (e *TakenError) Error() string { return e.Why }

// awaitOwner waits until no other process holds the session. The error is a *TakenError if somebody
// has continued the session meanwhile, or if it is not known whether a process holds it.
func (t *task) awaitOwner(ctx context.Context) error {
	for told := false; ; told = true {
		owner, err := t.talk.owner(ctx)
		switch {
		case err != nil:
			return t.taken("cannot tell whether another process has session %s open: %v", t.talk.id, err)
		case t.talk.wentOn(ctx): // asked last: the process may have ended just now
			return t.taken("session %s was continued without it while it waited", t.talk.id)
		case owner == nil:
			return nil
		}
		if has := map[bool]string{false: "has", true: "may have"}[owner.Guessed]; !told {
			t.say(fmt.Sprintf("process %d (%s) %s session %s open: it is continued when that process ends", owner.PID, owner.Kind, has, t.talk.id))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(ownerLook):
		}
	}
}

func (t *task) taken(format string, args ...any) error {
	return &TakenError{fmt.Sprintf(format, args...), t.talk.agent.GoOn(t.talk.session())}
}
