// Package telegram sends notices with a bot of Telegram.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"strconv"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

type message struct {
	Text      string `json:"text"`
	Chat      string `json:"chat_id"`
	Thread    *int   `json:"message_thread_id,omitempty"`
	ParseMode string `json:"parse_mode"`
	NoPreview bool   `json:"disable_web_page_preview"`
	Silent    bool   `json:"disable_notification"`
}

// maxText is what fits into one message, with room for escapes.
const maxText = 3500

var tokenForm = lazy.Regexp(`^[0-9]+:[a-zA-Z0-9_-]+$`)

var parseModes = map[string]string{"": "", "none": "", "html": "HTML", "markdown": "Markdown", "markdownv2": "MarkdownV2"}

// New parses telegram://TOKEN@telegram?chats=CHAT,CHAT:THREAD. If a chat refuses permanently, the
// others still get the notice; if a chat cannot be reached, it is tried again, with those after it.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	template := message{NoPreview: !o.Flag(true, "preview"), Silent: !o.Flag(true, "notification")}
	template.ParseMode = parseModes[o.Choice("parsemode", "none", "html", "markdown", "markdownv2")]
	chats := strings.FieldsFunc(o.Text("chats"), func(r rune) bool { return r == ',' || r == ' ' })
	password, _ := u.User.Password()
	bot := u.User.Username() + ":" + password
	if !tokenForm().MatchString(bot) || len(chats) == 0 {
		return nil, errors.New("must be telegram://TOKEN@telegram?chats=CHAT, with the token of a bot")
	}
	address := "https://api.telegram.org/bot" + bot + "/sendMessage"
	return remote.Service(func(ctx context.Context, n notify.Notice) error {
		var refused error
		for _, chat := range chats {
			answer, err := client.Post(ctx, address, nil, template.with(n, chat))
			err = result(client, answer, err)
			if notify.IsFinal(err) {
				refused = err
			} else if err != nil {
				return err
			}
		}
		return refused
	}), nil
}

// with returns the message for a notice to a chat, CHAT or CHAT:THREAD.
func (m message) with(n notify.Notice, chat string) message {
	m.Chat, chat, _ = strings.Cut(chat, ":")
	if thread, err := strconv.Atoi(chat); err == nil {
		m.Thread = &thread
	}
	m.Text = sanitize.Cut(n.Text, maxText)
	if m.ParseMode == "" {
		m.ParseMode, m.Text = "HTML", html.EscapeString(m.Text)
	}
	if m.ParseMode == "HTML" {
		m.Text = "<b>" + html.EscapeString(n.Title) + "</b>\n" + m.Text
	}
	return m
}

// result interprets a response. Only Telegram's own "ok" counts as accepted.
func result(client *remote.Client, answer remote.Answer, err error) error {
	var said struct {
		OK          *bool  `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			After int32 `json:"retry_after"` // seconds
		} `json:"parameters"`
	}
	strange := json.Unmarshal(answer.Body, &said) != nil || said.OK == nil
	switch {
	case err == nil && strange:
		return client.Strange(answer)
	case strange || err == nil && *said.OK:
		return err
	}
	after := time.Duration(said.Parameters.After) * time.Second
	if asked, ok := errors.AsType[*notify.SendError](err); ok && after <= 0 {
		after = asked.After
	}
	if answer.Code >= 400 {
		said.Code = answer.Code
	}
	return client.Refusal(answer, said.Code, after, cmp.Or(said.Description, string(answer.Body)))
}
