package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"resumed/internal/config"
	"resumed/internal/fleet"
	"resumed/internal/humanize"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// handed is a notice that is sent through the fleet. It has only facts: the host that reports it writes
// the words, and gets the sender from the server.
type handed struct {
	Event     notify.Event      `json:"event"`
	Account   string            `json:"account,omitempty"`
	Provider  string            `json:"provider,omitempty"`
	Reset     time.Time         `json:"reset,omitzero"`
	Sessions  []view.Session    `json:"sessions,omitempty"`
	Omitted   int               `json:"sessions_omitted,omitempty"`
	Allowance *notify.Allowance `json:"allowance,omitempty"`
	Gone      *goneHost         `json:"gone,omitempty"`
}

type goneHost struct {
	Name    string    `json:"name"`
	Waiting int       `json:"waiting"`
	SeenAt  time.Time `json:"seen_at"`
}

const mostHanded = 10

// facts returns the part of a notice that other hosts need to report it.
func facts(notice notify.Notice, reset time.Time) ([]byte, error) {
	h := handed{
		Event: notice.Event, Account: fleet.NameForOthers(notice.Account), Provider: fleet.NameForOthers(notice.Provider), Reset: reset, Allowance: notice.Allowance,
		Omitted: notice.Omitted + len(notice.Sessions),
	}
	for n := mostHanded; ; n /= 2 {
		h.Sessions = nil
		for _, s := range notice.Sessions[:min(n, len(notice.Sessions))] {
			h.Sessions = append(h.Sessions, shared(s, config.ShareFacts))
		}
		whole := h
		whole.Omitted -= len(h.Sessions)
		if data, err := json.Marshal(whole); err != nil || len(data) <= fleet.LargestValue || n == 0 {
			return data, err
		}
	}
}

func (m *membership) goneNotice(h fleet.Host) (id string, data []byte) {
	data, _ = json.Marshal(handed{Event: notify.HostGone, Gone: &goneHost{h.Host, h.Waiting, h.SeenAt.UTC()}})
	return strings.Join([]string{"host_gone", h.Host, h.Life}, "/"), data
}

// tellsTheSame reports whether a notice of another host says of the same event what ours would. Any host
// may take the id of a notice that others will publish.
func (m *membership) tellsTheSame(n fleet.Notice, ours []byte) bool {
	var x, y handed
	if fleet.Decode(n.Data, &x) != nil || fleet.Decode(ours, &y) != nil || x.Event != y.Event {
		return false
	}
	if x.Allowance != nil && y.Allowance != nil && (x.Allowance.Window != y.Allowance.Window || x.Allowance.Percent < y.Allowance.Percent) {
		return false
	}
	_, err := m.received(n, time.Now())
	return err == nil
}

// Why a notice of another host is dropped.
const (
	dropUnreadable = "unreadable"
	dropTooMany    = "too_many"
)

// accept reports a notice that some host has published. One that no host can report is dropped, and
// logged once.
func (m *membership) accept(ctx context.Context, n fleet.Notice) error {
	notice, err := m.received(n, time.Now())
	why := dropUnreadable
	if err == nil && m.senders.tooMany(n, time.Now()) {
		why, err = dropTooMany, fmt.Errorf("it has handed in %d notices within an hour", mostNotices)
	}
	if err == nil {
		return m.opts.Notifier.Accept(ctx, notice)
	}
	m.opts.Metrics.Dropped(why)
	if m.senders.first(n.Host, why) {
		m.log.Warn("a notice from the fleet is dropped; more of this machine may follow without a word", "host", n.Host, "why", err)
	}
	return nil
}

const mostNotices = 60

// senders counts the notices of each host. One goroutine uses it.
type senders struct {
	from   time.Time
	ids    map[string]map[string]bool // the notices of each host since then
	logged sync.Map                   // the hosts and reasons of which a drop was logged already
}

func (s *senders) tooMany(n fleet.Notice, now time.Time) bool {
	if s.ids == nil || now.Sub(s.from).Abs() >= time.Hour {
		s.from, s.ids = now, make(map[string]map[string]bool)
	}
	ids, id := s.ids[n.Host], shortHash(n.ID)
	if ids == nil {
		ids = make(map[string]bool)
		s.ids[n.Host] = ids
	}
	if !ids[id] && len(ids) >= mostNotices {
		return true
	}
	ids[id] = true
	return false
}

// first reports whether a drop for that reason was not logged yet for a host.
func (s *senders) first(host, why string) bool {
	_, logged := s.logged.LoadOrStore([2]string{host, why}, true)
	return !logged
}

// received writes the words of a notice that a host has published, unless it cannot be read or is
// false.
func (m *membership) received(n fleet.Notice, now time.Time) (notify.Notice, error) {
	var h handed
	if err := fleet.Decode(n.Data, &h); err != nil {
		return notify.Notice{}, err
	}
	if n.ID == "" || !fleet.GoodKey(n.Host) {
		return notify.Notice{}, errors.New("it has no id, or no sender")
	}
	notice := notify.Notice{
		Version: notify.Version, ID: "fleet_" + shortHash(n.ID), Event: h.Event, At: now.UTC(), Host: n.Host,
		Account: h.Account, Provider: h.Provider, Sessions: []view.Session{}, Omitted: min(max(h.Omitted, 0), 100_000),
	}
	var err error
	switch {
	case h.Event != notify.HostGone && !fleet.GoodAccount(h.Account), h.Provider != "" && !fleet.GoodName(h.Provider):
		err = errors.New("what it calls an account is no name of one")
	case h.Event == notify.Limited:
		err = sayLimited(&notice, h, now)
	case h.Event == notify.Usage && h.Allowance != nil:
		err = sayUsage(&notice, *h.Allowance, now)
	case h.Event == notify.HostGone && h.Gone != nil:
		err = m.sayGone(&notice, *h.Gone)
	default:
		err = fmt.Errorf("%q is no event that machines share, or something is missing in it", h.Event)
	}
	return notice, err
}

// soonEnough is how far away a reset may be. No allowance lasts longer than a month.
const soonEnough = 40 * 24 * time.Hour

func sayLimited(notice *notify.Notice, h handed, now time.Time) error {
	for _, s := range h.Sessions[:min(len(h.Sessions), mostHanded)] {
		if s = shared(s, config.ShareFacts); !presentable(s) {
			return errors.New("one of its sessions cannot be read")
		}
		s.Remedy = ""
		notice.Sessions = append(notice.Sessions, s)
	}
	notice.Title = "resumed: " + notice.Account + " is limited"
	notice.Text = fmt.Sprintf("Seen first by host %s, with %s.", notice.Host, humanize.Count(len(notice.Sessions)+notice.Omitted, "session"))
	if h.Reset.After(now) && h.Reset.Before(now.Add(soonEnough)) {
		notice.Text += " The limit lifts " + humanize.Until(h.Reset, now) + "."
	}
	return nil
}

func sayUsage(notice *notify.Notice, a notify.Allowance, now time.Time) error {
	if !(a.Percent > 0 && a.Percent <= 100) || !fleet.GoodName(a.Window) || !a.ResetsAt.After(now) || a.ResetsAt.After(now.Add(soonEnough)) {
		return errors.New("it names no use of an allowance")
	}
	a.Percent = math.Round(a.Percent)
	notice.Allowance = &a
	notice.Title, notice.Text = notify.UsageWords(resume.AccountKey{Name: notice.Account, Provider: notice.Provider}, a, now)
	return nil
}

// sayGone writes the words of a notice of this host: others report by themselves which hosts are gone.
func (m *membership) sayGone(notice *notify.Notice, gone goneHost) error {
	if notice.Host != m.host || !fleet.GoodKey(gone.Name) || gone.Waiting < 1 {
		return errors.New("each machine sees by itself which others are gone")
	}
	notice.Title = "resumed: host " + gone.Name + " is gone"
	notice.Text = fmt.Sprintf("%s of host %s %s, and it has not been heard of since %s.\nStart it again: they go on from there.",
		humanize.Count(gone.Waiting, "session"), gone.Name, humanize.Verb(gone.Waiting, "waits", "wait"), gone.SeenAt.Local().Format("15:04"))
	return nil
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
	return err == nil && m.fleet.PublishNotice(ctx, fleet.NoticeID(id, event, window), data)
}
