package natskv

import (
	"bytes"
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
	"resumed/internal/regular"
)

// Invitation is what a host needs to join a fleet. It is a secret: the hub decides how
// many hosts it admits.
type Invitation struct {
	URL  string
	Seed []byte // of the key that a host uses until it is admitted
	Key  []byte // of the fleet
	CA   []byte // the certificate that signed the server's, in DER form
}

// Line returns the invitation as one word.
func (i Invitation) Line() string {
	all := append(append(append([]byte(nil), i.Seed...), i.Key...), i.CA...)
	return i.URL + "/" + base64.RawURLEncoding.EncodeToString(all)
}

// ParseLine reads an invitation, with or without the command that it was printed in.
func ParseLine(text string) (Invitation, error) {
	wrong := errors.New("this is no join line: `resumed hub init` prints one, such as `resumed fleet join tls://…`")
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexAny(text, " \t\r\n")+1:]
	at := max(0, strings.LastIndex(line, "/"))
	u, err := url.Parse(line[:at])
	if err != nil || u.Scheme != "tls" || u.Host == "" {
		return Invitation{}, wrong
	}
	all, err := base64.RawURLEncoding.DecodeString(line[at+1:])
	if err != nil || len(all) < 2*keySize {
		return Invitation{}, wrong
	}
	i := Invitation{URL: line[:at], Seed: all[:keySize], Key: all[keySize : 2*keySize], CA: all[2*keySize:]}
	if _, err := x509.ParseCertificate(i.CA); err != nil {
		return Invitation{}, wrong
	}
	return i, nil
}

// CAText returns the content of the certificate file.
func (i Invitation) CAText() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.CA})
}

// LineKey returns the public key of a join line, from its seed.
func LineKey(seed []byte) (string, error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// Request asks the hub to admit a host.
type Request struct {
	Name string `json:"name"`
	Key  string `json:"key"` // its public key
}

// Answer is the answer of the hub to a Request.
type Answer struct {
	Error string `json:"error,omitempty"`
}

// RefusedError is why a host is not admitted.
type RefusedError struct{ Why string }

func (r *RefusedError) Error() string { return r.Why }

// AsApplicant returns the options of a host that is not admitted yet.
func (o Options) AsApplicant() (Options, error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, o.Credentials.Invitation)
	o.Credentials, o.Host = Credentials{pair: pair}, Applicant
	return o, err
}

// Register asks the hub to admit this host. Asking again with the same key changes nothing.
func Register(ctx context.Context, o Options) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	asks, err := o.AsApplicant()
	if err != nil {
		return err
	}
	nc, err := asks.Dial(nats.NoReconnect(), nats.Timeout(fleet.AnswerWithin))
	switch why := reasonOf(err); {
	case errors.Is(why, ErrUnknownHost), errors.Is(why, ErrUntrusted):
		return &RefusedError{"the line no longer works: it was used as often as it may be, a machine that joined with it was removed, or the hub was made anew. `resumed hub invite`, on the hub's machine, makes another"}
	case err != nil:
		return why
	}
	defer nc.Close()
	request, _ := json.Marshal(Request{Name: o.Host, Key: o.Credentials.Public()})
	msg, err := nc.RequestWithContext(ctx, JoinSubject+asks.Credentials.Public(), request)
	if err != nil {
		return fmt.Errorf("ask the hub at %s to let this host in: %w", o.URL, err)
	}
	var says Answer
	if err := json.Unmarshal(msg.Data, &says); err != nil {
		return fmt.Errorf("read the hub's answer: %w", err)
	}
	if says.Error != "" {
		return &RefusedError{says.Error}
	}
	return nil
}

// Credentials are the key of a host, and the key of the fleet, which hashes the names of accounts.
// Their file has the format of NATS credentials, with more parts.
type Credentials struct {
	Key        []byte // of the fleet
	Invitation []byte // the seed of the join line; nil: none

	pair nkeys.KeyPair // of the host
}

// NewCredentials generates the key of a host.
func NewCredentials() (Credentials, error) {
	pair, err := nkeys.CreateUser()
	return Credentials{pair: pair}, err
}

// Public returns the public key of the host.
func (c Credentials) Public() string {
	public, _ := c.pair.PublicKey() // the pair is valid
	return public
}

const (
	keyPart        = "RESUMED FLEET KEY"
	invitationPart = "RESUMED INVITATION"

	keySize = 32 // bytes, of all keys
)

// ReadCredentials reads a credentials file.
func ReadCredentials(file string) (Credentials, error) {
	text, err := regular.Read(file)
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	c, err := parse(text)
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w: let `resumed fleet join` write it", file, err)
	}
	return c, nil
}

func parse(text []byte) (Credentials, error) {
	pair, err := nkeys.FromSeed(block(text, "USER NKEY SEED"))
	if err != nil {
		return Credentials{}, errors.New("it holds no key of a host")
	}
	c := Credentials{pair: pair}
	if c.Key, err = part(text, keyPart); c.Key == nil {
		return Credentials{}, errors.Join(err, errors.New("it does not hold the fleet's key"))
	}
	c.Invitation, err = part(text, invitationPart)
	return c, err
}

// part returns the key in the block with that name; nil: there is none.
func part(text []byte, name string) ([]byte, error) {
	line := block(text, name)
	if line == nil {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(string(line))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s must be %d bytes in base64", name, keySize)
	}
	return key, nil
}

// block returns the line of the block with that name; nil: there is none.
func block(text []byte, name string) []byte {
	_, after, found := bytes.Cut(text, []byte("-----BEGIN "+name+"-----"))
	if !found {
		return nil
	}
	line, _, _ := bytes.Cut(bytes.TrimLeft(after, "\r\n"), []byte("\n"))
	return bytes.TrimSpace(line)
}

// Text returns the content of the credentials file.
func (c Credentials) Text() []byte {
	var b bytes.Buffer
	write := func(name, line string) {
		if line != "" {
			fmt.Fprintf(&b, "-----BEGIN %s-----\n%s\n------END %[1]s------\n\n", name, line)
		}
	}
	seed, _ := c.pair.Seed() // the pair is valid
	write("USER NKEY SEED", string(seed))
	write(keyPart, base64.StdEncoding.EncodeToString(c.Key))
	write(invitationPart, base64.StdEncoding.EncodeToString(c.Invitation))
	return b.Bytes()
}
