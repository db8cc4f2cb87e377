package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"resumed/internal/config"
	"resumed/internal/deliver"
	"resumed/internal/fleet"
	"resumed/internal/humanize"
	"resumed/internal/mounts"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// hold makes this host the one that looks after a session that lies on a file system which other
// machines write to, too.
func (c *crew) hold(ctx context.Context, s resume.Session) (deliver.Hold, *resume.NotSent) {
	m := c.member.Load()
	if m == nil || mounts.Network(s.Transcript) == "" {
		return nil, nil
	}
	takeOver := m.config.Takeover == config.TakeoverAuto || !s.RetryAskedAt.IsZero()
	held, err := m.fleet.Hold(ctx, shortHash(s.Key.String()), takeOver)
	_, elsewhere := errors.AsType[*fleet.ElsewhereError](err)
	switch gone, _ := errors.AsType[*fleet.GoneError](err); {
	case err == nil:
		return held, nil
	case gone != nil:
		why := fmt.Sprintf("%v; make sure that it does not run there, then `resumed retry %s` continues it here", gone, s.Name)
		return nil, &resume.NotSent{Why: why, Park: true}
	default:
		// An order of now is no leave to take the session over when that host is gone.
		return nil, &resume.NotSent{Why: "other machines can see it too: " + err.Error(), Answered: elsewhere}
	}
}

// share hands in a notice of an account that hosts share, so that people are told once.
func (c *crew) share(ctx context.Context, notice notify.Notice) bool {
	m := c.member.Load()
	if m == nil {
		return false
	}
	if notice.Allowance != nil {
		return m.shareUsage(ctx, notice)
	}
	if len(notice.Sessions) == 0 {
		return false
	}
	first := notice.Sessions[0]
	id := m.account(c.settings.Load(), resume.Session{
		Key: first.Key(), Account: notice.Account, Provider: notice.Provider, Transcript: first.Transcript,
	})
	if id == "" {
		return false
	}
	var reset time.Time
	if first.ResetAt != nil {
		reset = *first.ResetAt
	}
	notice.ID = fleet.NoticeID(id, string(notice.Event), m.fleet.Known()[id].Window(reset))
	data, err := json.Marshal(m.given(notice, reset))
	return err == nil && m.fleet.Tell(ctx, notice.ID, data)
}

// shareUsage hands in that much of an allowance is used. Hosts are told its end to the second,
// each by its own agent: it is the same one.
func (m *member) shareUsage(ctx context.Context, notice notify.Notice) bool {
	m.mu.Lock()
	id := m.known[resume.AccountKey{Name: notice.Account, Provider: notice.Provider}].key
	m.mu.Unlock()
	if id == "" {
		return false // nobody knows whose it is
	}
	event := fmt.Sprintf("%s.%s.%.0f", notice.Event, notice.Allowance.Window, notice.Allowance.Percent)
	notice.ID = fleet.NoticeID(id, event, notice.Allowance.ResetsAt.Round(10*time.Minute))
	data, err := json.Marshal(notice)
	return err == nil && m.fleet.Tell(ctx, notice.ID, data)
}

// given leaves of a notice what this host gives away.
func (m *member) given(notice notify.Notice, reset time.Time) notify.Notice {
	sessions := make([]resume.View, len(notice.Sessions))
	for i, s := range notice.Sessions {
		sessions[i] = shared(s, m.config.Share)
	}
	notice.Sessions = sessions
	if m.config.Share == config.ShareTexts {
		return notice
	}
	notice.Title = "resumed: " + notice.Account + " is limited"
	notice.Text = fmt.Sprintf("Seen first by host %s, with %s.", m.host, humanize.Count(len(sessions)+notice.Omitted, "session"))
	if !reset.IsZero() {
		notice.Text += " The limit lifts " + humanize.Until(reset, time.Now()) + "."
	}
	return notice
}

// accept tells people what some host has handed in.
func (c *crew) accept(ctx context.Context, data []byte) error {
	var notice notify.Notice
	if err := json.Unmarshal(data, &notice); err != nil || notice.ID == "" {
		return nil // nobody could read it later, either
	}
	return c.notifier.Accept(ctx, notice)
}

// goneNotice words what people are told of a host that is gone.
func (m *member) goneNotice(h fleet.Host) (id string, data []byte) {
	wait := "waits"
	if h.Waiting != 1 {
		wait = "wait"
	}
	notice := notify.Notice{
		Version: notify.Version, ID: strings.Join([]string{"host_gone", h.Host, h.Life}, "/"), Event: notify.HostGone,
		At: time.Now().UTC(), Host: m.host, Sessions: []resume.View{},
		Title: "resumed: host " + h.Host + " is gone",
		Text: fmt.Sprintf("%s of host %s %s, and it has not been heard of since %s.\nStart it again: they go on from there.",
			humanize.Count(h.Waiting, "session"), h.Host, wait, h.SeenAt.Local().Format("15:04")),
	}
	data, err := json.Marshal(notice)
	if err != nil {
		return "", nil
	}
	return notice.ID, data
}

// waiting counts the sessions of this host that wait.
func (c *crew) waiting() (n int) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	tallies, _ := c.engine.Tallies(ctx) // of one that stops nothing is told
	for _, t := range tallies {
		n += t[resume.Waiting]
	}
	return n
}
