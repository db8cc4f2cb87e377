// Package slack sends notices to Slack, by a webhook or as a bot.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

// Service sends to one webhook or channel.
type Service struct {
	client  *remote.Client
	address string
	bot     string // its token; "": a webhook
	color   string
	message message
}

type message struct {
	Text        string       `json:"text"`
	Username    string       `json:"username,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	Thread      string       `json:"thread_ts,omitempty"`
	Channel     string       `json:"channel,omitempty"`
	IconEmoji   string       `json:"icon_emoji,omitempty"`
	IconURL     string       `json:"icon_url,omitempty"`
}

type attachment struct {
	Text  string `json:"text"`
	Color string `json:"color,omitempty"`
}

// maxAttachments is what Slack takes in one message.
const maxAttachments = 100

// token has three parts, with one separator; before them a word says of what kind it is.
var token = regexp.MustCompile(`^(?:(xox.|hook)[-:]|:?)([A-Z0-9]{9,})([-/,])([A-Z0-9]{9,})([-/,])([A-Za-z0-9]{24,})$`)

// New reads slack://hook:A-B-C@webhook, slack://xoxb:A-B-C@CHANNEL and slack://[NAME@]A/B/C.
func New(u *url.URL, client *remote.Client) (*Service, error) {
	o := remote.OptionsOf(u)
	o.Text("title") // of the notice
	s := &Service{client: client, color: o.Text("color"), message: message{Username: o.Text("botname", "username"), Thread: o.Text("thread_ts")}}
	if icon := o.Text("icon", "icon_emoji", "icon_url"); strings.HasPrefix(icon, "http://") || strings.HasPrefix(icon, "https://") {
		s.message.IconURL = icon
	} else {
		s.message.IconEmoji = icon
	}
	written, channel := "", u.Hostname()
	if u.User != nil {
		written = u.User.String()
	}
	if len(u.Path) > 1 {
		written, channel = channel+u.Path, "webhook"
		if s.message.Username == "" {
			s.message.Username = u.User.Username()
		}
	}
	parts := token.FindStringSubmatch(written)
	if parts == nil || parts[3] != parts[5] {
		return nil, errors.New("must be slack://hook:A-B-C@webhook, with the three parts of the webhook's URL, or slack://xoxb:TOKEN@CHANNEL")
	}
	if channel != "webhook" {
		s.message.Channel = channel
	}
	if kind := parts[1]; kind == "" || kind == "hook" {
		s.address = "https://hooks.slack.com/services/" + parts[2] + "/" + parts[4] + "/" + parts[6]
	} else {
		s.address, s.bot = "https://slack.com/api/chat.postMessage", kind+"-"+parts[2]+"-"+parts[4]+"-"+parts[6]
	}
	return s, o.Err()
}

// Send sends a notice.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
	m := s.message
	m.Text = n.Title
	for _, line := range strings.SplitN(strings.TrimSuffix(n.Text, "\n"), "\n", maxAttachments) {
		m.Attachments = append(m.Attachments, attachment{line, s.color})
	}
	if s.bot != "" {
		answer, err := s.client.PostJSON(ctx, s.address, http.Header{"Authorization": {"Bearer " + s.bot}}, m)
		if err != nil {
			return err
		}
		return s.judge(answer)
	}
	answer, err := s.client.PostJSON(ctx, s.address, nil, m)
	if said := string(answer.Body); err == nil && said != "" && said != "ok" {
		err = s.client.Strange(answer)
	}
	return err
}

// What Slack says with status 200 to a bot, and what passes by itself.
var (
	badToken = []string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "no_permission", "not_allowed_token_type"}
	passing  = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}
)

// judge reads what a bot is answered.
func (s *Service) judge(answer remote.Answer) error {
	var said struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	code := http.StatusBadRequest
	switch {
	case json.Unmarshal(answer.Body, &said) != nil || said.OK == nil:
		return s.client.Strange(answer)
	case *said.OK:
		return nil
	case slices.Contains(badToken, said.Error):
		code = http.StatusUnauthorized
	case slices.Contains(passing, said.Error):
		code = http.StatusServiceUnavailable
	}
	return s.client.Refusal(answer, code, 0, said.Error)
}
