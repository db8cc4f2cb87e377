package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/sanitize"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// telegramBot sends to Telegram. The library's own way returns no error when the
// network refuses, or when the answer is none of Telegram's.
type telegramBot struct {
	config telegram.Config
	client *http.Client
}

// longestMessage is what fits into one message of Telegram's, with room for what
// is escaped.
const longestMessage = 3500

// Send sends to every chat. One that refuses for good keeps it from no other; one
// that cannot be reached is asked again, with those after it.
func (b *telegramBot) Send(message string, params *types.Params) error {
	title, _ := params.Title()
	var refused error
	for _, chat := range b.config.Chats {
		err := b.post(b.payload(chat, title, sanitize.Cut(message, longestMessage)))
		no, final := errors.AsType[*refusal](err)
		switch {
		case err == nil:
		case final && no.status >= 400 && !notify.Retryable(no.status):
			refused = err
		default:
			return err
		}
	}
	return refused
}

// payload is what the library makes of it.
func (b *telegramBot) payload(chat, title, message string) telegram.SendMessagePayload {
	p := telegram.SendMessagePayload{DisableNotification: !b.config.Notification, DisablePreview: !b.config.Preview}
	p.ID, _, _ = strings.Cut(chat, ":")
	if _, thread, ok := strings.Cut(chat, ":"); ok {
		if n, err := strconv.Atoi(thread); err == nil {
			p.MessageThreadID = &n
		}
	}
	mode := b.config.ParseMode
	if mode == telegram.ParseModes.None {
		mode, message = telegram.ParseModes.HTML, html.EscapeString(message)
	}
	p.ParseMode, p.Text = mode.String(), message
	if title = cmp.Or(title, b.config.Title); title != "" && mode == telegram.ParseModes.HTML {
		p.Text = "<b>" + html.EscapeString(title) + "</b>\n" + message
	}
	return p
}

// post makes one request. Only Telegram's own "ok" is an acceptance.
func (b *telegramBot) post(payload telegram.SendMessagePayload) error {
	body, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	resp, err := b.client.Post("https://api.telegram.org/bot"+b.config.Token+"/sendMessage", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	words, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("the answer (%s) was cut off: %w", resp.Status, err)
	}
	var said struct {
		OK          bool   `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			After int32 `json:"retry_after"` // seconds
		} `json:"parameters"`
	}
	if err := json.Unmarshal(words, &said); err != nil {
		return fmt.Errorf("the answer (%s) is none of Telegram's: %s", resp.Status, sanitize.Short(string(words), 100))
	}
	if said.OK && resp.StatusCode < 300 {
		return nil
	}
	after := cmp.Or(time.Duration(said.Parameters.After)*time.Second, notify.RetryAfter(resp.Header.Get("Retry-After"), time.Now()))
	no := answer{status: said.Code, after: max(after, 0)}
	if resp.StatusCode >= 400 {
		no.status = resp.StatusCode
	}
	return &refusal{no, fmt.Sprintf("it answered %s: %s", resp.Status, cmp.Or(said.Description, string(words)))}
}
