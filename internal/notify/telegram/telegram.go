// Package telegram sends notices to chats of Telegram, as a bot.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

// Service sends to the chats of one bot.
type Service struct {
	client  *remote.Client
	address string
	chats   []string // CHAT or CHAT:THREAD
	message message
}

type message struct {
	Text      string `json:"text"`
	Chat      string `json:"chat_id"`
	Thread    *int   `json:"message_thread_id,omitempty"`
	ParseMode string `json:"parse_mode"`
	NoPreview bool   `json:"disable_web_page_preview"`
	Silent    bool   `json:"disable_notification"`
}

// maxText is what fits into one message of Telegram, with room for what is escaped.
const maxText = 3500

var token = regexp.MustCompile(`^[0-9]+:[a-zA-Z0-9_-]+$`)

// modes are the ways in which Telegram reads a text.
var modes = map[string]string{"": "", "none": "", "html": "HTML", "markdown": "Markdown", "markdownv2": "MarkdownV2"}

// New reads telegram://TOKEN@telegram?chats=CHAT,CHAT:THREAD.
func New(u *url.URL, client *remote.Client) (*Service, error) {
	o := remote.OptionsOf(u)
	o.Text("title") // of the notice
	s := &Service{client: client, message: message{NoPreview: !o.Flag(true, "preview"), Silent: !o.Flag(true, "notification")}}
	s.message.ParseMode = modes[o.Choice("parsemode", "none", "html", "markdown", "markdownv2")]
	for chat := range strings.SplitSeq(o.Text("chats", "channels"), ",") {
		if chat = strings.TrimSpace(chat); chat != "" {
			s.chats = append(s.chats, chat)
		}
	}
	password, _ := u.User.Password()
	bot := u.User.Username() + ":" + password
	if !token.MatchString(bot) || len(s.chats) == 0 {
		return nil, errors.New("must be telegram://TOKEN@telegram?chats=CHAT, with the token of a bot")
	}
	s.address = "https://api.telegram.org/bot" + bot + "/sendMessage"
	return s, o.Err()
}

// Send sends to every chat. A chat that refuses for good does not keep the notice from the others;
// one that cannot be reached is tried again, with those after it.
func (s *Service) Send(ctx context.Context, n notify.Notice) error {
	var refused error
	for _, chat := range s.chats {
		err := s.post(ctx, s.compose(chat, n))
		if _, final := errors.AsType[*notify.PermanentError](err); final {
			refused = err
		} else if err != nil {
			return err
		}
	}
	return refused
}

func (s *Service) compose(chat string, n notify.Notice) message {
	m := s.message
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

// post sends to one chat. Only Telegram's own "ok" is an acceptance.
func (s *Service) post(ctx context.Context, m message) error {
	answer, err := s.client.PostJSON(ctx, s.address, nil, m)
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
		return s.client.Strange(answer)
	case strange || err == nil && *said.OK:
		return err
	}
	after := time.Duration(said.Parameters.After) * time.Second
	if asked, ok := errors.AsType[*notify.RetryAfterError](err); ok && after <= 0 {
		after = asked.After
	}
	code := said.Code
	if answer.Code >= 400 {
		code = answer.Code
	}
	return s.client.Refusal(answer, code, after, cmp.Or(said.Description, string(answer.Body)))
}
