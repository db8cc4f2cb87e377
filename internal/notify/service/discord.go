package service

import (
	"cmp"
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

// Limits of one Discord message.
const (
	discordEmbeds = 10
	discordTitle  = 256
	discordText   = 4000
)

type discordMessage struct {
	Username string         `json:"username,omitempty"`
	Avatar   string         `json:"avatar_url,omitempty"`
	Embeds   []discordEmbed `json:"embeds"`
}

// discordEmbed is a box with a coloured border.
type discordEmbed struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"description"`
	Color uint64 `json:"color"`
}

// discord parses discord://TOKEN@WEBHOOK.
func discord(u *url.URL, o *remote.Options, client *remote.Client) (sendFunc, error) {
	o.Text("colorerror", "colorwarn", "colorinfo", "colordebug") // a notice has no levels
	raw, lines := o.Flag(false, "json") || u.Path == "/raw", o.Flag(true, "splitlines")
	message := discordMessage{Username: o.Text("username"), Avatar: o.Text("avatar", "avatarurl")}
	color, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(cmp.Or(o.Text("color"), "0x50d9ff"), "0x"), "#"), 16, 24)
	if err != nil {
		o.Wrong("color", "must be a colour such as 0x50d9ff")
	}
	token := u.User.Username()
	if token == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" && u.Path != "/raw" {
		return nil, errors.New("must be discord://TOKEN@WEBHOOK")
	}
	address := "https://discord.com/api/webhooks/" + url.PathEscape(u.Host) + "/" + url.PathEscape(token)
	if thread := strings.TrimSpace(o.Text("thread_id")); thread != "" {
		address += "?thread_id=" + url.QueryEscape(thread)
	}
	return func(ctx context.Context, n notify.Notice) error {
		var answer remote.Answer
		var err error
		if raw { // the text is already the JSON of the message
			answer, err = client.Post(ctx, address, http.Header{"Content-Type": {"application/json"}}, []byte(n.Text))
		} else {
			answer, err = client.PostJSON(ctx, address, nil, message.with(n, color, lines))
		}
		if err == nil && len(answer.Body) == 0 {
			return nil
		}
		return client.WantObject(answer, err)
	}, nil
}

// with returns the message for a notice. lines: each line of the text becomes an embed.
func (m discordMessage) with(n notify.Notice, color uint64, lines bool) discordMessage {
	texts := []string{sanitize.Cut(n.Text, discordText)}
	if lines {
		texts = strings.SplitN(texts[0], "\n", discordEmbeds)
	}
	for _, text := range texts {
		m.Embeds = append(m.Embeds, discordEmbed{Text: text, Color: color})
	}
	m.Embeds[0].Title = sanitize.Cut(n.Title, discordTitle)
	return m
}
