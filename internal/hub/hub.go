// Package hub is the server that connects the hosts of a fleet: NATS JetStream in its own process, with
// a directory that contains everything it needs.
package hub

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"resumed/internal/fleet/natskv"
)

// The files of a hub's directory.
const (
	settingsFile = "hub.json"
	caFile       = "ca.pem"
	caKeyFile    = "ca.key"
	hostsDir     = "hosts" // one file per host, with its key
	dataDir      = "data"  // the files of JetStream
	damagedDir   = "damaged"
)

// settings are what Init decided, and the join lines.
type settings struct {
	Version int    `json:"version"`
	Listen  string `json:"listen"`
	URL     string `json:"url"` // the address that hosts connect to
	Key     []byte `json:"fleet_key"`
	Lines   []line `json:"lines"`

	StockSeed []byte `json:"stock_seed,omitempty"` // of the key that creates streams on a stock server
}

// settingsVersion is the version of the format of settings.
const settingsVersion = 2

// DefaultListen is the address of a hub if the operator names none: only this machine can reach it.
const DefaultListen = "127.0.0.1:4222"

const keySize = 32

// Init creates the directory of a hub, and returns the invitation for its hosts. An existing hub is not
// changed: its newest line that still works is returned, or a new one.
func Init(dir, listen string, says Line) (natskv.Invitation, error) {
	old, err := read(dir)
	if _, missing := errors.AsType[*noHubError](err); !missing {
		if err == nil && listen != "" && listen != old.Listen {
			err = fmt.Errorf("%s is of a hub that listens on %s: choose another directory, or change %s by hand", dir, old.Listen, filepath.Join(dir, settingsFile))
		}
		if err != nil {
			return natskv.Invitation{}, err
		}
		if len(old.Lines) == 0 {
			return Invite(dir, says)
		}
		return change(dir, nil)
	}
	if listen == "" {
		listen = DefaultListen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return natskv.Invitation{}, fmt.Errorf("%q is no address to listen on: write host:port, such as %s", listen, DefaultListen)
	}
	s := settings{Version: settingsVersion, Listen: listen, URL: "tls://" + net.JoinHostPort(namesOf(host)[0], port), Key: newSeed()}
	if err := s.invite(says); err != nil {
		return natskv.Invitation{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, hostsDir), 0o700); err != nil {
		return natskv.Invitation{}, fmt.Errorf("make the hub's directory: %w", err)
	}
	if err := newAuthority(dir); err != nil {
		return natskv.Invitation{}, fmt.Errorf("make certificates: %w", err)
	}
	if err := s.write(dir); err != nil { // last: the hub exists once this file does
		return natskv.Invitation{}, err
	}
	return change(dir, nil)
}

func read(dir string) (settings, error) {
	var s settings
	text, err := os.ReadFile(filepath.Join(dir, settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, &noHubError{dir}
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", filepath.Join(dir, settingsFile), err)
	}
	if s.Version != settingsVersion || len(s.Key) != keySize {
		return s, fmt.Errorf("%s is of another version of resumed: move %s away, make the hub anew with `resumed hub init`, and join its machines again", filepath.Join(dir, settingsFile), dir)
	}
	return s, nil
}

// noHubError is the error for a directory without a hub.
type noHubError struct{ dir string }

func (e *noHubError) Error() string {
	return fmt.Sprintf("there is no hub in %s: make one with `resumed hub init --dir %[1]s`", e.dir)
}

// certificate issues the certificate of a server of the hub.
func (s settings) certificate(dir string) (*tls.Certificate, error) {
	signer, err := readAuthority(dir)
	if err != nil {
		return nil, err
	}
	listens, _, err := hostPort(s.Listen)
	if err != nil {
		return nil, err
	}
	return signer.issue(append(namesOf(listens), s.host()))
}

// host is the name that hosts use for the hub: a person may have edited it.
func (s settings) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "localhost"
	}
	return u.Hostname()
}

func (s settings) invitation(dir string) (natskv.Invitation, error) {
	text, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return natskv.Invitation{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return natskv.Invitation{}, fmt.Errorf("%s holds no certificate", filepath.Join(dir, caFile))
	}
	return natskv.Invitation{URL: s.URL, Seed: s.Lines[len(s.Lines)-1].Seed, Key: s.Key, CA: block.Bytes}, nil
}
