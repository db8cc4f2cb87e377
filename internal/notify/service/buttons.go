package service

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// offer is an order that a button of a notice gives. Who presses it sends its token, and
// nothing else: what is done, and to which sessions, stands here alone.
type offer struct {
	Hash     string       `json:"hash"` // of the token; the token itself is in the notice alone
	Order    notify.Order `json:"order"`
	Sessions []resume.Key `json:"sessions"`
	Until    time.Time    `json:"until"`
}

const (
	offerLasts = 3 * 24 * time.Hour // a weekend
	maxOffers  = 300                // the oldest are forgotten first
)

// buttons are the orders that were offered and not given yet. They outlive the daemon: a
// button is pressed in the morning.
type buttons struct {
	memory notify.Memory
	key    string

	// A reply that no button sent must cost next to nothing, there may be thousands: these
	// are the hashes of what is open, and until when it is, as after so many changes.
	until   map[string]time.Time
	changes uint64
}

// offering guards what is remembered, and counts its changes: after a reload two channels
// share it for a moment.
var offering struct {
	sync.Mutex
	changes uint64
}

// offer offers an order once, and returns the token by which it is given.
func (b *buttons) offer(order notify.Order, sessions []resume.Key, now time.Time) string {
	token := rand.Text()
	offering.Lock()
	defer offering.Unlock()
	open := append(b.open(now), offer{Hash: hashOf(token), Order: order, Sessions: sessions, Until: now.Add(offerLasts).UTC().Round(0)})
	b.keep(open[max(0, len(open)-maxOffers):])
	return token
}

// take returns what a token stands for, once.
func (b *buttons) take(token string, now time.Time) (offer, bool) {
	hash := hashOf(token)
	offering.Lock()
	defer offering.Unlock()
	if b.until == nil || b.changes != offering.changes {
		b.until, b.changes = make(map[string]time.Time), offering.changes
		for _, o := range b.open(now) {
			b.until[o.Hash] = o.Until
		}
	}
	if until, offered := b.until[hash]; !offered || now.After(until) {
		return offer{}, false
	}
	open := b.open(now)
	i := slices.IndexFunc(open, func(o offer) bool { return o.Hash == hash })
	taken := open[i]
	b.keep(slices.Delete(open, i, i+1))
	return taken, true
}

func (b *buttons) open(now time.Time) []offer {
	var open []offer
	if data, found := b.memory.Value(b.key); found {
		_ = json.Unmarshal(data, &open) // what cannot be read was not offered
	}
	return slices.DeleteFunc(open, func(o offer) bool { return now.After(o.Until) })
}

func (b *buttons) keep(open []offer) {
	offering.changes++
	if data, err := json.Marshal(open); err == nil {
		b.memory.PutValue(b.key, data)
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// labels is what stands on the buttons, in their order.
var labels = []struct {
	order notify.Order
	label string
}{{notify.RetryNow, "Retry now"}, {notify.Forget, "Cancel"}, {notify.Hold, "Pause"}}

// written are the buttons of a notice that is on its way.
type written struct {
	actions string
	until   time.Time
}

// actions offers the buttons of a notice, as ntfy reads them; empty: it has none. ntfy shows
// three at most. A notice that is sent again has the buttons that it had: a try whose answer
// was lost may have reached the phone, and a server that is down for a day must not push out
// the buttons of notices that arrived.
func (s *Channel) actions(n notify.Notice) string {
	stopped := n.Event == notify.GaveUp || n.Event == notify.Parked || n.Event == notify.Limited
	if s.replies == nil || !stopped || len(n.Sessions) == 0 {
		return ""
	}
	now := time.Now()
	maps.DeleteFunc(s.written, func(_ string, w written) bool { return now.After(w.until) })
	if w, again := s.written[n.ID]; again {
		return w.actions
	}
	var sessions []resume.Key
	for _, v := range n.Sessions {
		sessions = append(sessions, v.Key())
	}
	var all []string
	for _, l := range labels {
		token := s.replies.buttons.offer(l.order, sessions, now)
		all = append(all, fmt.Sprintf("http, %s, %s, method=POST, body=%s, clear=true", l.label, s.replies.topic, token))
	}
	s.written[n.ID] = written{strings.Join(all, ";"), now.Add(offerLasts)}
	return s.written[n.ID].actions
}
