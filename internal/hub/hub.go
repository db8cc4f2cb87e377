// Package hub is the server that connects the hosts of a fleet: NATS JetStream in its own process, with
// a directory that contains everything it needs.
package hub

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/atomicfile"
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

	StockSeed []byte `json:"stock_seed"` // of the key that creates streams on a stock server
}

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
	number, badPort := strconv.ParseUint(port, 10, 16)
	if err != nil || badPort != nil || number == 0 {
		return natskv.Invitation{}, fmt.Errorf("--listen %q: must be host:port, such as %s, with a port from 1 to 65535", listen, DefaultListen)
	}
	s := settings{Version: settingsVersion, Listen: listen, URL: "tls://" + net.JoinHostPort(namesOf(host)[0], port), Key: newSeed(), StockSeed: newSeed()}
	if err := s.invite(says); err != nil {
		return natskv.Invitation{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, hostsDir), 0o700); err != nil {
		return natskv.Invitation{}, fmt.Errorf("make the hub's directory (--dir names another): %w", err)
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
		return s, fmt.Errorf("%s is damaged (%w): restore it, or move %s away, make the hub anew with `resumed hub init`, and join its machines again", filepath.Join(dir, settingsFile), err, dir)
	}
	if s.Version != settingsVersion || len(s.Key) != keySize {
		return s, fmt.Errorf("%s is of another version of resumed: move %s away, make the hub anew with `resumed hub init`, and join its machines again", filepath.Join(dir, settingsFile), dir)
	}
	return s, nil
}

type noHubError struct{ dir string }

func (e *noHubError) Error() string {
	return fmt.Sprintf("there is no hub in %s: make one with `resumed hub init --dir %[1]s`", e.dir)
}

func (s settings) invitation(dir string) (natskv.Invitation, error) {
	text, err := os.ReadFile(filepath.Join(dir, caFile)) // the authority's key may be elsewhere
	if err != nil {
		return natskv.Invitation{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return natskv.Invitation{}, fmt.Errorf("%s holds no certificate", filepath.Join(dir, caFile))
	}
	return natskv.Invitation{URL: s.URL, Seed: s.Lines[len(s.Lines)-1].Seed, Key: s.Key, CA: block.Bytes}, nil
}

// Line is which machines may join with a join line: each of the named machines once, or a number of
// machines of any name.
type Line struct {
	Names []string `json:"names,omitempty"`
	Uses  int      `json:"uses,omitempty"`
}

// DefaultUses is how many machines may join with a line by default.
const DefaultUses = 10

// line is a Line as stored, with the secret of the printed line.
type line struct {
	Seed []byte `json:"seed"`
	Line
}

func (l line) key() string {
	key, err := natskv.LineKey(l.Seed)
	if err != nil {
		return ""
	}
	return key
}

// usedUp reports whether no machine can join with the line any more.
func (l line) usedUp() bool { return len(l.Names) == 0 && l.Uses <= 0 }

func (l *line) spend(name string) error {
	if len(l.Names) == 0 {
		l.Uses--
		return nil
	}
	at := slices.Index(l.Names, name)
	if at < 0 {
		return fmt.Errorf("this line was not made for a machine called %s, but for %s: set the name with --name, or ask for another line (`resumed hub invite %[1]s`)", name, strings.Join(l.Names, ", "))
	}
	l.Names = slices.Delete(l.Names, at, at+1)
	return nil
}

// Invite creates one more line.
func Invite(dir string, says Line) (natskv.Invitation, error) {
	return change(dir, func(s *settings) error { return s.invite(says) })
}

// Renew creates a new line, and invalidates all others.
func Renew(dir string, says Line) (natskv.Invitation, error) {
	return change(dir, func(s *settings) error {
		s.Lines = nil
		return s.invite(says)
	})
}

// change changes the settings of a hub, and returns the invitation with its newest line.
func change(dir string, apply func(*settings) error) (natskv.Invitation, error) {
	s, err := update(dir, apply)
	if err != nil {
		return natskv.Invitation{}, err
	}
	return s.invitation(dir)
}

// update changes the settings of a hub, if apply is not nil, and writes the configuration of a stock
// server again: the machines may have changed. The hub and a command may do that at the same time: a lock
// makes one wait for the other.
func update(dir string, apply func(*settings) error) (settings, error) {
	lock, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, &noHubError{dir}
	}
	if err != nil {
		return settings{}, err
	}
	defer lock.Close() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return settings{}, fmt.Errorf("lock %s: %w", dir, err)
	}
	s, err := read(dir)
	if err == nil && apply != nil {
		err = apply(&s)
	}
	if err != nil {
		return s, err
	}
	s.Lines = slices.DeleteFunc(s.Lines, line.usedUp)
	if err := s.write(dir); err != nil {
		return s, err
	}
	return s, writeStock(dir, s)
}

func (s *settings) invite(says Line) error {
	for _, name := range says.Names {
		if !hostName().MatchString(name) {
			return fmt.Errorf("%q: %w", name, errName)
		}
	}
	if len(says.Names) == 0 && says.Uses == 0 {
		says.Uses = DefaultUses
	}
	if says.Uses < 0 {
		return errors.New("a line must let in one machine or more: write --uses 1")
	}
	s.Lines = append(s.Lines, line{newSeed(), says})
	return nil
}

func (s settings) write(dir string) error {
	text, _ := json.MarshalIndent(s, "", "  ") // texts and numbers: it does not fail
	return store(dir, settingsFile, append(text, '\n'))
}

// store replaces a file in a hub's directory. The owner of the directory will own it: root may have run
// the command, while the service runs as another user.
func store(dir, name string, text []byte) error {
	file := filepath.Join(dir, name)
	if err := atomicfile.Write(file, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return ownedLike(file, dir)
}

// ownedLike gives a file the owner of a directory, if this process is root.
func ownedLike(file, dir string) error {
	info, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Chown(file, int(owner.Uid), int(owner.Gid))
}
