package service

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

// pushoverText is what Pushover takes as a message.
const pushoverText = 1024

// pushover reads pushover://NAME:TOKEN@USER.
func pushover(u *url.URL, o *remote.Options, client *remote.Client) (sendFunc, error) {
	token, _ := u.User.Password()
	always := url.Values{"user": {u.Host}, "token": {token}, "device": {o.Text("devices")}}
	// 2 would have to be confirmed by the person, again and again.
	if priority := o.Choice("priority", "-2", "-1", "0", "1"); priority != "" {
		always.Set("priority", priority)
	}
	if token == "" || u.Host == "" {
		return nil, errors.New("must be pushover://resumed:TOKEN@USER")
	}
	return func(ctx context.Context, n notify.Notice) error {
		form := url.Values{"title": {n.Title}, "message": {sanitize.Cut(n.Text, pushoverText)}}
		maps.Copy(form, always)
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		answer, err := client.Post(ctx, "https://api.pushover.net/1/messages.json", header, []byte(form.Encode()))
		if err != nil {
			return err
		}
		var result struct {
			Status *int     `json:"status"`
			Errors []string `json:"errors"`
		}
		switch {
		case json.Unmarshal(answer.Body, &result) != nil || result.Status == nil:
			return client.Strange(answer)
		case *result.Status != 1:
			return client.Refusal(answer, http.StatusBadRequest, 0, strings.Join(result.Errors, ", "))
		}
		return nil
	}, nil
}
