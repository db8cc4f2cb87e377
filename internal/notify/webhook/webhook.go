// Package webhook posts notices to a user's URL.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/notify/remote"
)

// Options configure a webhook.
type Options struct {
	notify.Common
	URL    string // http or https
	Secret string // whsec_ and base64; empty: not signed
}

// sender posts notices as JSON, signed according to the Standard Webhooks specification.
type sender struct {
	url    *url.URL
	key    []byte // of the signature; empty: not signed
	client *remote.Client
}

// New checks the options; it connects to nothing. Its errors contain no part of the URL or the secret.
func New(o Options) (*notify.Channel, error) {
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, o.Wrong("url", "must be an http or https URL")
	}
	secret := strings.TrimSpace(o.Secret)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || secret != "" && len(key) == 0 {
		return nil, o.Wrong("secret", "secret is not whsec_ followed by base64")
	}
	o.To = remote.RedactURL(u)
	return notify.NewChannel(o.Common, &sender{u, key, remote.NewClient(o.To, remote.NewRedactor(u, false), nil)})
}

// Send posts the notice. Any 2xx counts as accepted, whatever the body is.
func (w *sender) Send(ctx context.Context, n notify.Notice) (string, error) {
	body, _ := json.Marshal(n) // it was read from the outbox as JSON
	header := make(http.Header)
	w.sign(header, n.ID, time.Now(), body)
	answer, err := w.client.Post(ctx, w.url.String(), header, body)
	return answer.Status, err
}

// sign sets the headers of one try. The id is the same in all tries, so that a receiver can distinguish
// a second try from a second notice.
func (w *sender) sign(h http.Header, id string, now time.Time, body []byte) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	if len(w.key) == 0 {
		return
	}
	mac := hmac.New(sha256.New, w.key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
