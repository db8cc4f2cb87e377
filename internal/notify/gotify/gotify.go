// Package gotify sends notices to a Gotify server.
package gotify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

// Service sends to one application of a server.
type Service struct {
	client  *remote.Client
	address string
	token   string
	message message
}

type message struct {
	Title    string          `json:"title"`
	Message  string          `json:"message"`
	Priority int             `json:"priority"`
	Date     string          `json:"date,omitempty"`
	Extras   json.RawMessage `json:"extras,omitempty"`
}

// New reads gotify://HOST[/PATH]/TOKEN.
func New(u *url.URL, client *remote.Client) (*Service, error) {
	o := remote.OptionsOf(u)
	o.Text("title")            // of the notice
	o.Flag(false, "useheader") // always: a URL is logged in more places than a header
	client.SkipVerify(o.Flag(false, "insecureskipverify"))
	at := url.URL{Scheme: "https", Host: u.Host}
	if o.Flag(false, "disabletls") {
		at.Scheme = "http"
	}
	dir, token := path.Split(strings.TrimSuffix(u.Path, "/"))
	at.Path = path.Join("/", dir, "message")
	s := &Service{client: client, address: at.String(), token: token, message: message{Date: o.Text("date")}}
	if priority := o.Text("priority"); priority != "" {
		var err error
		if s.message.Priority, err = strconv.Atoi(priority); err != nil || s.message.Priority < -2 || s.message.Priority > 10 {
			o.Wrong("priority", "must be a number from -2 to 10")
		}
	}
	if extras := o.Text("extras"); extras != "" {
		if s.message.Extras = json.RawMessage(extras); !json.Valid(s.message.Extras) {
			o.Wrong("extras", "must be JSON")
		}
	}
	if u.Host == "" || token == "" {
		return nil, errors.New("must be gotify://HOST/TOKEN")
	}
	return s, o.Err()
}

// Send sends a notice.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
	m := s.message
	m.Title, m.Message = n.Title, n.Text
	answer, err := s.client.PostJSON(ctx, s.address, http.Header{"X-Gotify-Key": {s.token}}, m)
	if err == nil && !answer.IsObject() {
		err = s.client.Strange(answer)
	}
	return err
}
