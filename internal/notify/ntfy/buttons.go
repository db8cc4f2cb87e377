package ntfy

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// offer is an order that a button of a notice gives. A button sends its token and nothing
// else: only the offer says what is done, and to which sessions.
type offer struct {
	Hash     string       `json:"hash"` // of the token; the token itself is in the notice alone
	Order    notify.Order `json:"order"`
	Sessions []resume.Key `json:"sessions"`
	Until    time.Time    `json:"until"`
}

const (
	offerLasts = 3 * 24 * time.Hour // a weekend
	maxOffers  = 300                // the oldest are dropped first
)

// buttons are the orders that were offered and not given yet. They are stored: a button is
// pressed in the morning, and the daemon may have been restarted.
type buttons struct {
	memory notify.Memory
	key    string

	// What was stored last, and the offers in it: a reply that no button sent must be cheap, there may
	// be thousands.
	stored []byte
	offers []offer
}

// offering guards what is stored: after a reload two channels share it for a moment.
var offering sync.Mutex

// offer offers an order once, and returns the token by which it is given.
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
	open := b.open(now)
	i := slices.IndexFunc(open, func(o offer) bool { return o.Hash == hash })
	if i < 0 {
		return offer{}, false
	}
	taken := open[i]
	b.store(slices.Delete(open, i, i+1))
	return taken, true
}

// open returns a copy of the offers that can still be taken.
func (b *buttons) open(now time.Time) []offer {
	if data, _ := b.memory.Value(b.key); !bytes.Equal(data, b.stored) {
		b.stored, b.offers = data, nil
		_ = json.Unmarshal(data, &b.offers) // what cannot be read was not offered
	}
	return slices.DeleteFunc(slices.Clone(b.offers), func(o offer) bool { return now.After(o.Until) })
}

func (b *buttons) store(open []offer) {
	if data, err := json.Marshal(open); err == nil {
		b.memory.PutValue(b.key, data)
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// labels are the texts of the buttons, in their order. ntfy shows three at most.
var labels = []struct {
	order notify.Order
	label string
}{{notify.RetryNow, "Retry now"}, {notify.Forget, "Cancel"}, {notify.Hold, "Pause"}}

// actions offers the buttons of a notice, in the form of ntfy; "": it has none. A notice that is sent
// again has the same buttons: a try whose answer was lost may have reached the phone, and
// a server that is down for a day must not push out the buttons of notices that arrived.
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
		clear(s.written) // of notices that never arrived
	}
	var sessions []resume.Key
	for _, v := range n.Sessions {
		sessions = append(sessions, v.Key())
	}
	var all []string
	for _, l := range labels {
		token := s.replies.buttons.offer(l.order, sessions, time.Now())
		all = append(all, fmt.Sprintf("http, %s, %s, method=POST, body=%s, clear=true", l.label, s.replies.topic, token))
	}
	s.written[n.ID] = strings.Join(all, ";")
	return s.written[n.ID]
}
