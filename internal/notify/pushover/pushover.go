// Package pushover sends notices with Pushover.
package pushover

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

const maxText = 1024

// New parses pushover://NAME:TOKEN@USER.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	token, _ := u.User.Password()
	always := url.Values{"user": {u.Host}, "token": {token}, "device": {o.Text("devices")}}
	// With 2, Pushover repeats the notice until the person confirms it.
	if priority := o.Choice("priority", "-2", "-1", "0", "1"); priority != "" {
		always.Set("priority", priority)
	}
	if token == "" || u.Host == "" {
		return nil, errors.New("must be pushover://resumed:TOKEN@USER")
	}
	return remote.Service(func(ctx context.Context, n notify.Notice) error {
		form := url.Values{"title": {n.Title}, "message": {sanitize.Cut(n.Text, maxText)}}
		maps.Copy(form, always)
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		answer, err := client.Post(ctx, "https://api.pushover.net/1/messages.json", header, []byte(form.Encode()))
		if err != nil {
			return err
		}
		var result struct {
			Status *int
			Errors []string
		}
		switch {
		case json.Unmarshal(answer.Body, &result) != nil || result.Status == nil:
			return client.Strange(answer)
		case *result.Status != 1:
			return client.Refusal(answer, http.StatusBadRequest, 0, strings.Join(result.Errors, ", "))
		}
		return nil
	}), nil
}
