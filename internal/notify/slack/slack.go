// Package slack sends notices with a webhook or a bot of Slack.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"resumed/internal/lazy"
	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

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

const maxAttachments = 100

// tokenForm has three parts, after a prefix for its kind.
var tokenForm = lazy.Regexp(`^(xox.|hook):([A-Z0-9]{9,})-([A-Z0-9]{9,})-([A-Za-z0-9]{24,})$`)

// New parses slack://hook:A-B-C@webhook and slack://xoxb:A-B-C@CHANNEL.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	color, template := o.Text("color"), message{Username: o.Text("botname"), Thread: o.Text("thread_ts")}
	if icon := o.Text("icon"); strings.HasPrefix(icon, "http://") || strings.HasPrefix(icon, "https://") {
		template.IconURL = icon
	} else {
		template.IconEmoji = icon
	}
	secret, _ := u.User.Password()
	parts, channel := tokenForm().FindStringSubmatch(u.User.Username()+":"+secret), u.Hostname()
	if parts == nil {
		return nil, errors.New("must be the URL that Slack shows for a webhook, https://hooks.slack.com/services/A/B/C, or slack://xoxb:TOKEN@CHANNEL for a bot")
	}
	if channel != "webhook" {
		template.Channel = channel
	}
	kind, ids := parts[1], parts[2:]
	isBot := kind != "hook"
	address, header := "https://hooks.slack.com/services/"+strings.Join(ids, "/"), http.Header{}
	if isBot {
		address = "https://slack.com/api/chat.postMessage"
		header.Set("Authorization", "Bearer "+kind+"-"+strings.Join(ids, "-"))
	}
	return remote.Service(func(ctx context.Context, n notify.Notice) error {
		m := template
		m.Text = n.Title
		for _, line := range strings.SplitN(strings.TrimSuffix(n.Text, "\n"), "\n", maxAttachments) {
			m.Attachments = append(m.Attachments, attachment{line, color})
		}
		answer, err := client.Post(ctx, address, header, m)
		switch text := string(answer.Body); {
		case err != nil:
			return err
		case isBot:
			return resultOfBot(client, answer)
		case text != "" && text != "ok":
			return client.Strange(answer)
		}
		return nil
	}), nil
}

// Errors that Slack returns to a bot with status 200: for the token, and temporary ones.
var (
	badToken = []string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "no_permission", "not_allowed_token_type"}
	passing  = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}
)

func resultOfBot(client *remote.Client, answer remote.Answer) error {
	var result struct {
		OK    *bool
		Error string
	}
	code := http.StatusBadRequest
	switch {
	case json.Unmarshal(answer.Body, &result) != nil || result.OK == nil:
		return client.Strange(answer)
	case *result.OK:
		return nil
	case slices.Contains(badToken, result.Error):
		code = http.StatusUnauthorized
	case slices.Contains(passing, result.Error):
		code = http.StatusServiceUnavailable
	}
	return client.Refusal(answer, code, 0, result.Error)
}
