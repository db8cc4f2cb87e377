package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

// gotify reads gotify://HOST[/PATH]/TOKEN.
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
	if message.Priority, err = strconv.Atoi(o.TextOr("0", "priority")); err != nil || message.Priority < -2 || message.Priority > 10 {
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
