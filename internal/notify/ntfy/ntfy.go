// Package ntfy sends notices to a topic of ntfy, and receives orders from their buttons.
package ntfy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

// Service sends to one topic.
type Service struct {
	client  *remote.Client
	server  url.URL // without a topic
	topic   string
	header  http.Header // of every notice
	replies *replies    // nil: notices have no buttons

	mu      sync.Mutex
	written map[string]string // buttons of the last notices
}

// topicName is the form of a topic's name.
var topicName = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// New parses ntfy://[USER:PASSWORD@]HOST/TOPIC. An access token is a password without a user.
func New(u *url.URL, o *remote.Options, client *remote.Client) (remote.Service, error) {
	client.SkipVerify(o.Flag(false, "disabletlsverification"))
	s := &Service{
		client: client, topic: strings.TrimPrefix(u.Path, "/"), header: make(http.Header), written: make(map[string]string),
		server: url.URL{Scheme: "https", Host: u.Host},
	}
	if o.Choice("scheme", "http", "https") == "http" || o.Flag(false, "disabletls") {
		s.server.Scheme = "http"
	}
	if u.Host == "" || s.topic == "" {
		return nil, errors.New("must be ntfy://HOST/TOPIC")
	}
	set := func(name, value string) {
		if value != "" {
			s.header.Set(name, value)
		}
	}
	set("Priority", o.Choice("priority", "min", "low", "default", "high", "max", "urgent", "1", "2", "3", "4", "5"))
	set("Delay", o.Text("delay", "at", "in"))
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
	return s, nil
}

// maxText is the longest text that ntfy accepts, in bytes, with some reserve. It stores longer texts as
// files, and refuses them if it stores no files.
const maxText = 4000

// Send sends a notice.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
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
