// Package gotify sends notices with a server of Gotify.
package gotify

import (
	"cmp"
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

// New parses gotify://HOST[/PATH]/TOKEN.
func New(u *url.URL, o *remote.Options, client *remote.Client) (notify.Sender, error) {
	client.SkipVerify(o.Flag(false, "insecureskipverify"))
	dir, token := path.Split(strings.TrimSuffix(u.Path, "/"))
	address := url.URL{Scheme: "https", Host: u.Host, Path: path.Join("/", dir, "message")}
	if o.Flag(false, "disabletls") {
		address.Scheme = "http"
	}
	priority, err := strconv.Atoi(cmp.Or(o.Text("priority"), "0"))
	if err != nil || priority < -2 || priority > 10 {
		o.Wrong("priority", "must be a number from -2 to 10")
	}
	extras := json.RawMessage(o.Text("extras"))
	if len(extras) > 0 && !json.Valid(extras) {
		o.Wrong("extras", "must be JSON")
	}
	message := struct {
		Title    string          `json:"title"`
		Message  string          `json:"message"`
		Priority int             `json:"priority"`
		Date     string          `json:"date,omitempty"`
		Extras   json.RawMessage `json:"extras,omitempty"`
	}{Date: o.Text("date"), Extras: extras, Priority: priority}
	if u.Host == "" || token == "" {
		return nil, errors.New("must be gotify://HOST/TOKEN")
	}
	return remote.Service(func(ctx context.Context, n notify.Notice) error {
		m := message
		m.Title, m.Message = n.Title, n.Text
		return client.WantObject(client.Post(ctx, address.String(), http.Header{"X-Gotify-Key": {token}}, m))
	}), nil
}
