// Package ntfy sends notices to a topic of ntfy, and receives orders from their buttons.
package ntfy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/resume"
)

// Service sends to one topic.
type Service struct {
	remote.Service
	client  *remote.Client
	server  url.URL // without a topic
	topic   string
	header  http.Header       // of every notice
	replies *replies          // nil: notices have no buttons
	written map[string]string // buttons of the last notices; deliveries are sent one at a time
}

var topicName = lazy.Regexp(`^[-_A-Za-z0-9]{1,64}$`)

// New parses ntfy://[USER:PASSWORD@]HOST/TOPIC. An access token is a password without a user.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	client.SkipVerify(o.Flag(false, "disabletlsverification"))
	s := &Service{
		client: client, topic: strings.TrimPrefix(u.Path, "/"), header: make(http.Header), written: make(map[string]string),
		server: url.URL{Scheme: "https", Host: u.Host},
	}
	s.server.Scheme = cmp.Or(o.Choice("scheme", "http", "https"), s.server.Scheme)
	if u.Host == "" || s.topic == "" {
		return nil, errors.New("must be ntfy://HOST/TOPIC")
	}
	set := func(name, value string) {
		if value != "" {
			s.header.Set(name, value)
		}
	}
	set("Priority", o.Choice("priority", "min", "low", "default", "high", "max", "urgent", "1", "2", "3", "4", "5"))
	set("Delay", o.Text("delay"))
	for _, name := range []string{"Tags", "Actions", "Click", "Attach", "Filename", "Email", "Icon"} {
		set(name, o.Text(strings.ToLower(name)))
	}
	for _, name := range []string{"Cache", "Firebase"} {
		if !o.Flag(true, strings.ToLower(name)) {
			set(name, "no")
		}
	}
	if u.User != nil {
		signIn := http.Request{Header: s.header}
		password, _ := u.User.Password()
		signIn.SetBasicAuth(u.User.Username(), password)
	}
	s.Service = s.send
	return s, nil
}

// maxText is the longest text that ntfy accepts, in bytes, with some reserve. It stores longer texts as
// files, and refuses them if it stores no files.
const maxText = 4000

func (s *Service) send(ctx context.Context, n notify.Notice) error {
	header := s.header.Clone()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Title", n.Title)
	if buttons := s.actions(n); buttons != "" {
		header.Set("Actions", buttons)
	}
	text := n.Text
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
	}
	return s.client.WantObject(s.client.Post(ctx, s.server.JoinPath(s.topic).String(), header, []byte(text)))
}

// offer is an order that a button of a notice gives. A button sends only its token: the offer
// determines what is done, and to which sessions.
type offer struct {
	Hash     string        `json:"hash"` // of the token; the token itself is only in the notice
	Order    notify.Action `json:"order"`
	Sessions []resume.Key  `json:"sessions"`
	Until    time.Time     `json:"until"`
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

func (b *buttons) offer(order notify.Action, sessions []resume.Key, now time.Time) string {
	token := rand.Text()
	offering.Lock()
	defer offering.Unlock()
	open := append(b.open(now), offer{Hash: hashOf(token), Order: order, Sessions: sessions, Until: now.Add(offerLasts).UTC().Round(0)})
	b.store(open[max(0, len(open)-maxOffers):])
	return token
}

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
	data, _ := json.Marshal(open) // texts and times of now: it does not fail
	b.memory.PutValue(b.key, data)
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
	if actions, again := s.written[n.ID]; again {
		return actions
	}
	if len(s.written) >= maxOffers {
		clear(s.written)
	}
	var all []string
	for _, button := range []struct { // ntfy shows at most three
		order notify.Action
		label string
	}{{notify.RetryNow, n.RetryLabel()}, {notify.Forget, "Cancel"}, {notify.Hold, "Pause"}} {
		token := s.replies.buttons.offer(button.order, n.Keys(), time.Now())
		all = append(all, fmt.Sprintf("http, %s, %s, method=POST, body=%s, clear=true", button.label, s.replies.topic, token))
	}
	s.written[n.ID] = strings.Join(all, ";")
	return s.written[n.ID]
}
