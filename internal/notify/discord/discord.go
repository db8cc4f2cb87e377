// Package discord sends notices to a channel of Discord, by its webhook.
package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

// What Discord takes in one message.
const (
	maxEmbeds = 10
	maxTitle  = 256
	maxText   = 4000
)

// Service sends to one webhook.
type Service struct {
	client  *remote.Client
	address string
	raw     bool // the text is the message as JSON
	lines   bool // each line is a box of its own
	color   uint64
	message message
}

type message struct {
	Username string  `json:"username,omitempty"`
	Avatar   string  `json:"avatar_url,omitempty"`
	Embeds   []embed `json:"embeds"`
}

// embed is a box with a coloured border.
type embed struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"description"`
	Color uint64 `json:"color"`
}

// New reads discord://TOKEN@WEBHOOK.
func New(u *url.URL, client *remote.Client) (*Service, error) {
	o := remote.OptionsOf(u)
	o.Text("title", "colorerror", "colorwarn", "colorinfo", "colordebug") // a notice has its own title, and no levels
	s := &Service{
		client: client, color: 0x50d9ff,
		raw: o.Flag(false, "json") || u.Path == "/raw", lines: o.Flag(true, "splitlines"),
		message: message{Username: o.Text("username"), Avatar: o.Text("avatar", "avatarurl")},
	}
	if color := o.Text("color"); color != "" {
		var err error
		if s.color, err = strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(color, "0x"), "#"), 16, 24); err != nil {
			o.Wrong("color", "must be a colour such as 0x50d9ff")
		}
	}
	token := u.User.Username()
	if token == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" && u.Path != "/raw" {
		return nil, errors.New("must be discord://TOKEN@WEBHOOK")
	}
	s.address = "https://discord.com/api/webhooks/" + url.PathEscape(u.Host) + "/" + url.PathEscape(token)
	if thread := strings.TrimSpace(o.Text("thread_id")); thread != "" {
		s.address += "?thread_id=" + url.QueryEscape(thread)
	}
	return s, o.Err()
}

// Send sends a notice.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
	var answer remote.Answer
	var err error
	if s.raw {
		answer, err = s.client.Post(ctx, s.address, http.Header{"Content-Type": {"application/json"}}, []byte(n.Text))
	} else {
		answer, err = s.client.PostJSON(ctx, s.address, nil, s.compose(n))
	}
	if err == nil && len(answer.Body) > 0 && !answer.IsObject() {
		err = s.client.Strange(answer)
	}
	return err
}

func (s *Service) compose(n notify.Notice) message {
	m := s.message
	texts := []string{sanitize.Cut(n.Text, maxText)}
	if s.lines {
		texts = strings.SplitN(texts[0], "\n", maxEmbeds)
	}
	for _, text := range texts {
		m.Embeds = append(m.Embeds, embed{Text: text, Color: s.color})
	}
	m.Embeds[0].Title = sanitize.Cut(n.Title, maxTitle)
	return m
}
