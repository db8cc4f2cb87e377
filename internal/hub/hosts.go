package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"resumed/internal/fleet/natskv"
	"resumed/internal/fsevents"
	"resumed/internal/lazy"
)

// hosts decides about connections to the hub: by the files of the machines that have joined, and by the
// join lines. The file of a machine is read for each of its connections, so that changes count at once.
type hosts struct {
	dir string // of the hub
	hub string // the public key of the hub itself, as a client of its server
	log *slog.Logger
	ns  *server.Server

	mu       sync.Mutex           // serializes admissions, and the creation of accounts; guards what follows
	expelled map[string]time.Time // machines that are not let in until then
}

func hostFile(dir, name string) string { return filepath.Join(dir, hostsDir, name+".json") }

type host struct {
	Version int `json:"version"`
	Machine
	Key  string `json:"key"`
	Line string `json:"line"` // the key of the line that it joined with
}

// Machine is a machine that a hub knows.
type Machine struct {
	Name  string    `json:"name"`
	Since time.Time `json:"joined_at"`
}

var hostName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

var errName = errors.New("the name must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit: choose one by --name")

// admit admits a host that has the line with that key. A name belongs to the first host that joined
// with it.
func (h *hosts) admit(lineKey string, request natskv.Request) error {
	if !hostName().MatchString(request.Name) {
		return errName
	}
	if !nkeys.IsValidPublicUserKey(request.Key) {
		return errors.New("that is no key of a host")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	file := hostFile(h.dir, request.Name)
	known, err := readHost(file)
	switch {
	case err == nil && known.Key == request.Key:
		return nil
	case err == nil:
		return fmt.Errorf("a host called %s is there already: choose another name by --name; if it is this very machine, run `resumed hub remove %[1]s` and `resumed hub invite %[1]s` on the hub's, and join again with that line", request.Name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// First the line is used up: it must never admit more hosts than it may.
	_, err = update(h.dir, func(s *settings) error {
		at := slices.IndexFunc(s.Lines, func(l line) bool { return l.key() == lineKey })
		if at < 0 {
			return errors.New("this line lets nobody in any more: `resumed hub invite`, on the hub's machine, makes another")
		}
		return s.Lines[at].spend(request.Name)
	})
	if err != nil {
		return err
	}
	text, _ := json.MarshalIndent(host{1, Machine{request.Name, time.Now().UTC().Truncate(time.Second)}, request.Key, lineKey}, "", "  ")
	if err := store(h.dir, filepath.Join(hostsDir, request.Name+".json"), append(text, '\n')); err != nil {
		return err
	}
	_, err = update(h.dir, nil)
	return err
}

// receive answers the requests to join until the connection is closed. The subject contains the key of
// the line.
func (h *hosts) receive(nc *nats.Conn) error {
	_, err := nc.Subscribe(natskv.JoinSubject+"*", func(msg *nats.Msg) {
		var request natskv.Request
		var answer natskv.Answer
		err := json.Unmarshal(msg.Data, &request)
		if err == nil {
			err = h.admit(strings.TrimPrefix(msg.Subject, natskv.JoinSubject), request)
		}
		if err != nil {
			answer.Error = err.Error()
		}
		text, _ := json.Marshal(answer)
		_ = msg.Respond(text) // the applicant asks again
	})
	return err
}

func readHost(file string) (host, error) {
	var known host
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	return known, err
}

func (h *hosts) knows(name, key string) bool {
	if !hostName().MatchString(name) {
		return false
	}
	known, err := readHost(hostFile(h.dir, name))
	return err == nil && known.Key == key
}

func allHosts(dir string) (all []host) {
	files, _ := filepath.Glob(hostFile(dir, "*")) // the pattern is valid
	for _, file := range files {
		known, err := readHost(file)
		if err == nil && strings.TrimSuffix(filepath.Base(file), ".json") == known.Name {
			all = append(all, known)
		}
	}
	return all
}

// isApplicant reports whether that is the key of a line that machines can still join with.
func (h *hosts) isApplicant(key string) bool {
	s, err := read(h.dir)
	return err == nil && slices.ContainsFunc(s.Lines, func(l line) bool { return l.key() == key })
}

// Check admits a client that proves that it has the key of a host, and gives it the rights of that
// host. The server calls it for every connection.
func (h *hosts) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		return false
	}
	public, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || public.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	if o.Nkey == h.hub {
		return true
	}
	user := natskv.HostOf(o.Name)
	var granted rights
	switch {
	case h.knows(user, o.Nkey):
		if h.isExpelled(user) {
			return false
		}
		granted = hostRights(user)
	case h.isApplicant(o.Nkey):
		user, granted = "guest."+o.Nkey, applicantRights(o.Nkey) // no host can have this name
	default:
		return false
	}
	own, err := h.account(user, granted)
	if err != nil {
		h.log.Error("a machine cannot be let in", "host", user, "err", err)
		return false
	}
	c.RegisterUser(&server.User{Username: user, Permissions: granted.permissions(), Account: own})
	return true
}

// Remove removes a machine. It could join again by itself with its old line, so that line is
// invalidated too. A running hub notices it at once.
func Remove(dir, name string) error {
	_, err := update(dir, func(s *settings) error {
		gone, err := readHost(hostFile(dir, name))
		if !hostName().MatchString(name) || errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no host called %q in this hub: %s", name, listed(dir))
		}
		s.Lines = slices.DeleteFunc(s.Lines, func(l line) bool { return err != nil || l.key() == gone.Line })
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.Remove(hostFile(dir, name)); err != nil {
		return fmt.Errorf("remove the host: %w", err)
	}
	_, err = update(dir, nil)
	return err
}

// List is what a hub knows: its machines, and which machines can still join with its lines.
type List struct {
	Listen   string    `json:"listen"`
	Machines []Machine `json:"machines"`
	Lines    []Line    `json:"lines"`
}

// Known returns what the hub in a directory knows.
func Known(dir string) (List, error) {
	s, err := read(dir)
	if err != nil {
		return List{}, err
	}
	l := List{Listen: s.Listen, Machines: []Machine{}, Lines: []Line{}}
	for _, known := range allHosts(dir) {
		l.Machines = append(l.Machines, known.Machine)
	}
	for _, open := range s.Lines {
		l.Lines = append(l.Lines, open.Line)
	}
	return l, nil
}

func listed(dir string) string {
	var names []string
	for _, known := range allHosts(dir) {
		names = append(names, known.Name)
	}
	if names == nil {
		return "nobody has joined"
	}
	return "it knows " + strings.Join(names, ", ")
}

// keepOut disconnects machines that are removed while they are connected, and removes what they have
// stored, until ctx is done.
func (h *hosts) keepOut(ctx context.Context, nc *nats.Conn, ready func()) error {
	listener, err := fsevents.New()
	if err != nil {
		return fmt.Errorf("watch the hub's directory: %w", err)
	}
	defer func() { _ = listener.Close() }()
	if err := listener.Add(filepath.Join(h.dir, hostsDir)); err != nil {
		return fmt.Errorf("watch the hub's directory: %w", err)
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-listener.Ready():
		}
		events, err := listener.Take(math.MaxInt)
		if err != nil { // something may have been missed
			h.log.Warn("the hub's directory is watched with gaps", "err", err)
			h.disconnect()
		}
		for _, e := range events {
			if name := strings.TrimSuffix(filepath.Base(e.Name), ".json"); e.Has(fsnotify.Remove) && hostName().MatchString(name) {
				h.disconnect()
				if _, err := cutHost(nc, name, false); err != nil {
					h.log.Error("what a removed machine has stored is still there", "host", name, "err", err)
				}
			}
		}
	}
}

// disconnect disconnects machines that would not be admitted now. The holder of a line that was
// replaced is refused when it asks to join.
func (h *hosts) disconnect() {
	const page = 1000
	for from := 0; ; from += page {
		open, err := h.ns.Connz(&server.ConnzOptions{Username: true, Offset: from, Limit: page})
		if err != nil {
			h.log.Error("cannot see who is connected: restart the hub", "err", err)
			return
		}
		for _, c := range open.Conns {
			if name := natskv.HostOf(c.Name); c.Account == accountOf(name) && !h.knows(name, c.AuthorizedUser) {
				h.log.Info("a host that was removed is disconnected", "host", name)
				_ = h.ns.DisconnectClientByID(c.Cid) // it may have disconnected already
			}
		}
		if len(open.Conns) < page {
			return
		}
	}
}
