package natskv

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"resumed/internal/fleet"
)

// Invitation is what a host needs to know to become one of a fleet. It is a secret: the hub says how
// many hosts it lets in.
type Invitation struct {
	URL  string
	Seed []byte // of the guest that asks to be let in
	Key  []byte // of the fleet
	CA   []byte // the certificate that signed the server's, as DER
}

// Line is the invitation in one word.
func (i Invitation) Line() string {
	all := append(append(append([]byte(nil), i.Seed...), i.Key...), i.CA...)
	return i.URL + "/" + base64.RawURLEncoding.EncodeToString(all)
}

// ParseLine reads an invitation, with or without the command that it was printed in.
func ParseLine(text string) (Invitation, error) {
	words := strings.Fields(text)
	wrong := errors.New("this is no join line: `resumed hub init` prints one, such as `resumed fleet join tls://…`")
	if len(words) == 0 {
		return Invitation{}, wrong
	}
	line := words[len(words)-1]
	at := strings.LastIndex(line, "/")
	if at < 0 {
		return Invitation{}, wrong
	}
	u, err := url.Parse(line[:at])
	all, err2 := base64.RawURLEncoding.DecodeString(line[at+1:])
	if err != nil || err2 != nil || u.Scheme != "tls" || u.Host == "" || len(all) < 2*keySize {
		return Invitation{}, wrong
	}
	i := Invitation{URL: line[:at], Seed: all[:keySize], Key: all[keySize : 2*keySize], CA: all[2*keySize:]}
	if _, err := x509.ParseCertificate(i.CA); err != nil {
		return Invitation{}, wrong
	}
	return i, nil
}

// CAText returns the file of the certificate.
func (i Invitation) CAText() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.CA})
}

// GuestKey returns by what the server knows a holder of the invitation.
func GuestKey(seed []byte) (string, error) {
	guest, err := guestCredentials(seed)
	return guest.public, err
}

func guestCredentials(seed []byte) (Credentials, error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return Credentials{}, err
	}
	text, err := pair.Seed()
	if err != nil {
		return Credentials{}, err
	}
	return withSeed(text)
}

// Request is what a guest asks.
type Request struct {
	Name string `json:"name"`
	Key  string `json:"key"` // by which the host is known from now on
}

// answer is what it is told.
type answer struct {
	Error string `json:"error,omitempty"`
}

// RefusedError says why a host is not let in.
type RefusedError struct{ Why string }

func (r *RefusedError) Error() string { return r.Why }

// AsGuest returns how a host connects that was not let in yet.
func (o Options) AsGuest() (Options, error) {
	var err error
	o.Credentials, err = guestCredentials(o.Credentials.Invitation)
	o.Host = guest
	return o, err
}

// Register asks the hub to let this host in. It does so once for a host: asking
// again with the same key changes nothing.
func Register(ctx context.Context, o Options) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	asks, err := o.AsGuest()
	if err != nil {
		return err
	}
	nc, err := asks.Dial(nats.NoReconnect(), nats.Timeout(fleet.AnswerWithin))
	switch why := meant(err); {
	case errors.Is(why, ErrUnknownHost), errors.Is(why, ErrNotTheirs):
		return &RefusedError{"the line no longer works: it was used as often as it may be, a machine that joined with it was removed, or the hub was made anew. `resumed hub invite`, on the hub's machine, makes another"}
	case err != nil:
		return why
	}
	defer nc.Close()
	request, err := json.Marshal(Request{Name: o.Host, Key: o.Credentials.public})
	if err != nil {
		return err
	}
	msg, err := nc.RequestWithContext(ctx, joinSubject+asks.Credentials.public, request)
	if err != nil {
		return fmt.Errorf("ask the hub at %s to let this host in: %w", o.URL, err)
	}
	var told answer
	if err := json.Unmarshal(msg.Data, &told); err != nil {
		return fmt.Errorf("read the hub's answer: %w", err)
	}
	if told.Error != "" {
		return &RefusedError{told.Error}
	}
	return nil
}

// Receive answers guests until the subscription ends. It is the hub's part. A guest is known by the key
// of its line.
func Receive(nc *nats.Conn, let func(guest string, r Request) error) (*nats.Subscription, error) {
	return nc.Subscribe(joinSubject+"*", func(msg *nats.Msg) {
		var (
			request Request
			says    answer
		)
		err := json.Unmarshal(msg.Data, &request)
		if err == nil {
			err = let(strings.TrimPrefix(msg.Subject, joinSubject), request)
		}
		if err != nil {
			says.Error = err.Error()
		}
		text, err := json.Marshal(says)
		if err == nil {
			_ = msg.Respond(text) // who asked asks again
		}
	})
}
