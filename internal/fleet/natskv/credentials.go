package natskv

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/nats-io/nkeys"

	"resumed/internal/regular"
)

// Credentials are the key of a host, and the key of the fleet, which hashes the names of accounts.
// Their file has the format of NATS credentials, with more parts.
type Credentials struct {
	Key        []byte // of the fleet
	Invitation []byte // the seed of the join line; nil: none

	seed   []byte
	public string
}

// NewCredentials generates the key of a host.
func NewCredentials() (Credentials, error) { return credentialsOf(nkeys.CreateUser()) }

func credentialsOf(pair nkeys.KeyPair, err error) (Credentials, error) {
	if err != nil {
		return Credentials{}, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return Credentials{}, err
	}
	public, err := pair.PublicKey()
	return Credentials{seed: seed, public: public}, err
}

// Public returns the public key of the host.
func (c Credentials) Public() string { return c.public }

func (c Credentials) sign(nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed(c.seed)
	if err != nil {
		return nil, err
	}
	return pair.Sign(nonce)
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
	c, err := credentialsOf(nkeys.FromSeed(block(text, "USER NKEY SEED")))
	if err != nil {
		return Credentials{}, errors.New("it holds no key of a host")
	}
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
	write("USER NKEY SEED", string(c.seed))
	write(keyPart, base64.StdEncoding.EncodeToString(c.Key))
	write(invitationPart, base64.StdEncoding.EncodeToString(c.Invitation))
	return b.Bytes()
}
