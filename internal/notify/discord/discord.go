// Package discord sends notices with a webhook of Discord.
package discord

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

const (
	maxEmbeds = 10
	maxTitle  = 256
	maxText   = 4000
)

type message struct {
	Username string  `json:"username,omitempty"`
	Avatar   string  `json:"avatar_url,omitempty"`
	Embeds   []embed `json:"embeds"`
}

type embed struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"description"`
	Color uint64 `json:"color"`
}

// New parses discord://TOKEN@WEBHOOK.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	raw, lines := u.Path == "/raw", o.Flag(true, "splitlines")
	template := message{Username: o.Text("username"), Avatar: o.Text("avatar")}
	color, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(cmp.Or(o.Text("color"), "0x50d9ff"), "0x"), "#"), 16, 24)
	if err != nil {
		o.Wrong("color", "must be a colour such as 0x50d9ff")
	}
	token := u.User.Username()
	if token == "" || strings.Contains(token, "/") || u.Host == "" || strings.Trim(u.Path, "/") != "" && u.Path != "/raw" {
		return nil, errors.New("must be the URL that Discord shows for a webhook, https://discord.com/api/webhooks/WEBHOOK/TOKEN, or discord://TOKEN@WEBHOOK")
	}
	address := "https://discord.com/api/webhooks/" + url.PathEscape(u.Host) + "/" + url.PathEscape(token)
	if thread := strings.TrimSpace(o.Text("thread_id")); thread != "" {
		address += "?thread_id=" + url.QueryEscape(thread)
	}
	return remote.Service(func(ctx context.Context, n notify.Notice) error {
		var body any = []byte(n.Text) // raw: the text is already the JSON of the message
		if !raw {
			body = template.with(n, color, lines)
		}
		answer, err := client.Post(ctx, address, nil, body)
		if err == nil && len(answer.Body) == 0 {
			return nil
		}
		return client.WantObject(answer, err)
	}), nil
}

// with returns the message for a notice. lines: each line of the text becomes an embed.
func (m message) with(n notify.Notice, color uint64, lines bool) message {
	texts := []string{sanitize.Cut(n.Text, maxText)}
	if lines {
		texts = strings.SplitN(texts[0], "\n", maxEmbeds)
	}
	for _, text := range texts {
		m.Embeds = append(m.Embeds, embed{Text: text, Color: color})
	}
	m.Embeds[0].Title = sanitize.Cut(n.Title, maxTitle)
	return m
}
