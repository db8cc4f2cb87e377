package ntfy

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// offer is an order that a button of a notice gives. A button sends only its token: the offer
// determines what is done, and to which sessions.
type offer struct {
	Hash     string       `json:"hash"` // of the token; the token itself is only in the notice
	Order    notify.Order `json:"order"`
	Sessions []resume.Key `json:"sessions"`
	Until    time.Time    `json:"until"`
}

const (
	offerLasts = 3 * 24 * time.Hour // a weekend
	maxOffers  = 300                // the oldest are dropped first
)

// buttons are the offers that were not used yet. They are stored: a button may be pressed hours later,
// after the daemon was restarted.
type buttons struct {
	memory notify.Memory
	key    string
}

// offering guards the stored offers: after a reload two channels share them for a moment.
var offering sync.Mutex

// offer offers an order once, and returns its token.
func (b *buttons) offer(order notify.Order, sessions []resume.Key, now time.Time) string {
	token := rand.Text()
	offering.Lock()
	defer offering.Unlock()
	open := append(b.open(now), offer{Hash: hashOf(token), Order: order, Sessions: sessions, Until: now.Add(offerLasts).UTC().Round(0)})
	b.store(open[max(0, len(open)-maxOffers):])
	return token
}

// take returns the offer of a token, once.
func (b *buttons) take(token string, now time.Time) (offer, bool) {
	hash := hashOf(token)
	offering.Lock()
	defer offering.Unlock()
	if stored, _ := b.memory.Value(b.key); !bytes.Contains(stored, []byte(hash)) {
		return offer{}, false // cheap: there may be thousands of messages that no button sent
	}
	open := b.open(now)
	i := slices.IndexFunc(open, func(o offer) bool { return o.Hash == hash })
	if i < 0 {
		return offer{}, false
	}
	taken := open[i]
	b.store(slices.Delete(open, i, i+1))
	return taken, true
}

// open returns the offers that can still be used. Those that cannot be read do not exist.
func (b *buttons) open(now time.Time) (offers []offer) {
	stored, _ := b.memory.Value(b.key)
	_ = json.Unmarshal(stored, &offers)
	return slices.DeleteFunc(offers, func(o offer) bool { return now.After(o.Until) })
}

func (b *buttons) store(open []offer) {
	if data, err := json.Marshal(open); err == nil {
		b.memory.PutValue(b.key, data)
	}
}

func hashOf(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }

// actions returns the buttons of a notice, in the form of ntfy; "": it has none. A notice that is sent
// again has the same buttons: a try without an answer may have reached the phone, and a server that is
// down for a day must not displace the buttons of notices that arrived.
func (s *Service) actions(n notify.Notice) string {
	stopped := n.Event == notify.GaveUp || n.Event == notify.Parked || n.Event == notify.Limited
	if s.replies == nil || !stopped || len(n.Sessions) == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if actions, again := s.written[n.ID]; again {
		return actions
	}
	if len(s.written) >= maxOffers {
		clear(s.written)
	}
	var sessions []resume.Key
	for _, v := range n.Sessions {
		sessions = append(sessions, v.Key())
	}
	var all []string
	for _, button := range []struct { // ntfy shows at most three
		order notify.Order
		label string
	}{{notify.RetryNow, n.RetryLabel()}, {notify.Forget, "Cancel"}, {notify.Hold, "Pause"}} {
		token := s.replies.buttons.offer(button.order, sessions, time.Now())
		all = append(all, fmt.Sprintf("http, %s, %s, method=POST, body=%s, clear=true", button.label, s.replies.topic, token))
	}
	s.written[n.ID] = strings.Join(all, ";")
	return s.written[n.ID]
}
