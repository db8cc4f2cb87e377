package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/state"
)

// core is the engine as delivery has it.
type core struct {
	*engine.Engine
	life *life
}

func (c core) Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error) {
	if _, alive := c.life.pass("apply %s %s", key.ID, strings.TrimPrefix(fmt.Sprintf("%T", ev), "resume.")); !alive {
		return resume.Session{}, errDead
	}
	ended, over := ev.(resume.Ended)
	switch {
	case c.life.bug == sendsUnknownAgain && over && ended.Outcome == resume.Unknown:
		ev = resume.Ended{Mark: ended.Mark, Outcome: resume.Failed}
	case c.life.bug == countsNothing && over && ended.Outcome == resume.Failed:
		ev = resume.Lost{Mark: ended.Mark}
	}
	return c.Engine.Apply(ctx, key, ev)
}

// transcripts are read for delivery.
type transcripts struct{ *life }

func (t transcripts) ReadNew(ctx context.Context, s resume.Session) error {
	if _, alive := t.pass("look %s", s.Key.ID); !alive {
		return errDead
	}
	return t.look(ctx, t.world.place(s.Key))
}

func (t transcripts) Await(ctx context.Context, _ string) error {
	if _, alive := t.pass("await"); !alive {
		return errDead
	}
	return t.look(ctx, t.places...)
}

// outbox is the store as the notifier has it.
type outbox struct {
	*state.Store
	life *life
}

func (o outbox) StoreOutbox(open []notify.Delivery, key string, value []byte) {
	if o.life.bug != keepsNoNotice {
		o.Store.StoreOutbox(open, key, value)
	}
}

func (o outbox) Pending() []notify.Delivery {
	pending := o.Store.Pending()
	// Notices of one time are in the order of their names, which are another
	// each time that a seed is played.
	slices.SortStableFunc(pending, func(a, b notify.Delivery) int {
		if by := a.At.Compare(b.At); by != 0 {
			return by
		}
		return cmp.Compare(about(a), about(b))
	})
	return pending
}

// about says what a notice tells.
func about(d notify.Delivery) string {
	var n notify.Notice
	_ = json.Unmarshal(d.Payload, &n)
	var text strings.Builder
	for _, v := range n.Sessions {
		text.WriteString(v.ID + " " + v.Program + " ")
	}
	return text.String()
}

func (o outbox) Sync(ctx context.Context, _ ...resume.Key) error {
	dice, alive := o.life.pass("keep notices")
	switch {
	case !alive:
		return errDead
	case !o.life.isCalm() && dice%20 == 0:
		return errors.New("no space left on device")
	}
	return o.Store.Sync(ctx)
}

func (o outbox) Done(ctx context.Context, id, channel, outcome string) error {
	if _, alive := o.life.pass("note that %s was told", channel); !alive {
		return errDead
	}
	if o.life.bug == forgetsItTold {
		o.life.recorded(id, channel)
		return nil
	}
	if err := o.Store.Done(ctx, id, channel, outcome); err != nil {
		return err
	}
	o.life.recorded(id, channel)
	return nil
}
