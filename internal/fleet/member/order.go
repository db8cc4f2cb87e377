package member

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// away is an order for a session of another host.
type away struct {
	Session string         `json:"session"`
	Order   control.Action `json:"order"`
}

type answer struct {
	Error   string        `json:"error,omitempty"`
	Unknown bool          `json:"unknown,omitempty"` // there is no such session
	Early   bool          `json:"early,omitempty"`   // the provider asked to wait
	Session *view.Session `json:"session,omitempty"`
}

// DoAway sends an order to another host.
func (c *Client) DoAway(ctx context.Context, host, session string, order control.Action) (view.Session, error) {
	m := c.current()
	if m == nil {
		return view.Session{}, control.ErrNoFleet
	}
	text, _ := json.Marshal(away{session, order})
	reply, err := m.store.SendOrder(ctx, host, text)
	if err != nil {
		return view.Session{}, err
	}
	var a answer
	if err := fleet.Decode(reply, &a); err != nil {
		return view.Session{}, fmt.Errorf("read what %s answers: %w", host, err)
	}
	switch {
	case a.Unknown:
		return view.Session{}, fmt.Errorf("on %s: %w", host, resume.ErrNoSession)
	case a.Early:
		return view.Session{}, fmt.Errorf("on %s: %w%s", host, control.ErrEarly, strings.TrimPrefix(a.Error, control.ErrEarly.Error()))
	case a.Error != "" || a.Session == nil:
		return view.Session{}, fmt.Errorf("on %s: %s", host, cmp.Or(a.Error, "no answer"))
	}
	return *a.Session, nil
}

var mayAsk = map[control.Action]bool{control.Retry: true, control.Due: true, control.Cancel: true, control.Pause: true}

// readOrder parses an order of another host. An order with an unknown field is refused: it may mean
// something else.
func readOrder(text []byte) (asked away, err error) {
	if len(text) > fleet.LargestValue {
		return away{}, errors.New("the order is too long")
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&asked); err != nil || in.More() {
		return away{}, errors.New("the order cannot be read")
	}
	if !mayAsk[asked.Order] {
		return away{}, fmt.Errorf("%.20q is not taken from another machine, which may ask for retry, cancel or pause: run it there", asked.Order)
	}
	return asked, nil
}

// answerOrder carries out an order of another host. Such a host may give few orders, and the
// protections of sessions still apply.
func (m *membership) answerOrder(ctx context.Context, from string, text []byte) []byte {
	var says answer
	asked, err := readOrder(text)
	if !fleet.GoodKey(from) {
		err = errors.New("nobody is called so")
	}
	if err == nil {
		var after view.Session
		if after, err = m.opts.Order(ctx, from, asked.Session, asked.Order); err == nil {
			says.Session = new(shared(after, m.opts.Settings().Fleet.Share))
		}
	}
	if err != nil {
		says.Error, says.Unknown, says.Early = err.Error(), errors.Is(err, resume.ErrNoSession), errors.Is(err, control.ErrEarly)
	}
	reply, err := json.Marshal(says)
	if err != nil {
		return []byte("{}")
	}
	return reply
}
