package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
	"resumed/internal/sanitize"
)

// gotify parses gotify://HOST[/PATH]/TOKEN.
func gotify(u *url.URL, o *remote.Options, client *remote.Client) (sendFunc, error) {
	o.Flag(false, "useheader") // always: a URL is logged in more places than a header
	client.SkipVerify(o.Flag(false, "insecureskipverify"))
	address := url.URL{Scheme: "https", Host: u.Host}
	if o.Flag(false, "disabletls") {
		address.Scheme = "http"
	}
	dir, token := path.Split(strings.TrimSuffix(u.Path, "/"))
	address.Path = path.Join("/", dir, "message")
	message := struct {
		Title    string          `json:"title"`
		Message  string          `json:"message"`
		Priority int             `json:"priority"`
		Date     string          `json:"date,omitempty"`
		Extras   json.RawMessage `json:"extras,omitempty"`
	}{Date: o.Text("date"), Extras: json.RawMessage(o.Text("extras"))}
	var err error
	if message.Priority, err = strconv.Atoi(cmp.Or(o.Text("priority"), "0")); err != nil || message.Priority < -2 || message.Priority > 10 {
		o.Wrong("priority", "must be a number from -2 to 10")
	}
	if len(message.Extras) > 0 && !json.Valid(message.Extras) {
		o.Wrong("extras", "must be JSON")
	}
	if u.Host == "" || token == "" {
		return nil, errors.New("must be gotify://HOST/TOKEN")
	}
	return func(ctx context.Context, n notify.Notice) error {
		m := message
		m.Title, m.Message = n.Title, n.Text
		return client.WantObject(client.PostJSON(ctx, address.String(), http.Header{"X-Gotify-Key": {token}}, m))
	}, nil
}

// pushoverText is the longest message of Pushover.
const pushoverText = 1024

// pushover parses pushover://NAME:TOKEN@USER.
func pushover(u *url.URL, o *remote.Options, client *remote.Client) (sendFunc, error) {
	token, _ := u.User.Password()
	always := url.Values{"user": {u.Host}, "token": {token}, "device": {o.Text("devices")}}
	// With 2, Pushover repeats the notice until the person confirms it.
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
