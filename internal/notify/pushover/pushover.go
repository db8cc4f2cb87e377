// Package pushover sends notices by Pushover.
package pushover

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

const address = "https://api.pushover.net/1/messages.json"

// maxText is what Pushover takes as a message.
const maxText = 1024

// Service sends to the devices of one user.
type Service struct {
	client *remote.Client
	form   url.Values // of every message
}

// New reads pushover://NAME:TOKEN@USER.
func New(u *url.URL, client *remote.Client) (*Service, error) {
	o := remote.OptionsOf(u)
	o.Text("title") // of the notice
	token, _ := u.User.Password()
	s := &Service{client, url.Values{"user": {u.Host}, "token": {token}, "device": {o.Text("devices")}}}
	// 2 would have to be confirmed by the person, again and again.
	if priority := o.Choice("priority", "-2", "-1", "0", "1"); priority != "" {
		s.form.Set("priority", priority)
	}
	if token == "" || u.Host == "" {
		return nil, errors.New("must be pushover://resumed:TOKEN@USER")
	}
	return s, o.Err()
}

// Send sends a notice.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
	form := url.Values{"title": {n.Title}, "message": {sanitize.Cut(n.Text, maxText)}}
	for name, values := range s.form {
		form[name] = slices.Clone(values)
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	answer, err := s.client.Post(ctx, address, header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	var said struct {
		Status *int     `json:"status"`
		Errors []string `json:"errors"`
	}
	switch {
	case json.Unmarshal(answer.Body, &said) != nil || said.Status == nil:
		return s.client.Strange(answer)
	case *said.Status != 1:
		return s.client.Refusal(answer, http.StatusBadRequest, 0, strings.Join(said.Errors, ", "))
	}
	return nil
}
