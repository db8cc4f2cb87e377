package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// signer signs bodies as the Standard Webhooks specification says. The zero
// signer does not sign.
type signer struct{ key []byte }

func newSigner(secret string) (signer, error) {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return signer{}, nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return signer{}, errors.New("secret is not whsec_ followed by base64")
	}
	return signer{key: key}, nil
}

// sign sets the headers of one try. The id stays the same over all tries, so
// that a receiver can tell a second try from a second notice.
func (s signer) sign(h http.Header, id string, now time.Time, body []byte) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	if s.key == nil {
		return
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
