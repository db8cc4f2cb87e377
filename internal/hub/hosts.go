package hub

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"resumed/internal/fleet/natskv"
)

// hosts decides about connections to the hub: by the files of the machines that have joined, and by the
// join lines. The file of a machine is read for each of its connections, so that changes count at once.
type hosts struct {
	dir string // of the hub
	hub string // the public key of the hub itself, as a client of its server
	log *slog.Logger
	ns  *server.Server

	mu sync.Mutex // serializes admissions, and the creation of accounts
}

func hostFile(dir, name string) string { return filepath.Join(dir, hostsDir, name+".json") }

// host is the content of a host's file.
type host struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Line    string    `json:"line"` // the key of the line that it joined with
	Since   time.Time `json:"since"`
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

var errName = errors.New("the name must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit: choose one by --name")

// admit admits a host that has the line with that key. A name belongs to the first host that joined
// with it.
func (h *hosts) admit(lineKey string, request natskv.Request) error {
	if !hostName.MatchString(request.Name) {
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
	text, err := json.MarshalIndent(host{1, request.Name, request.Key, lineKey, time.Now().UTC().Truncate(time.Second)}, "", "  ")
	if err != nil {
		return err
	}
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
		var (
			request natskv.Request
			answer  natskv.Answer
		)
		err := json.Unmarshal(msg.Data, &request)
		if err == nil {
			err = h.admit(strings.TrimPrefix(msg.Subject, natskv.JoinSubject), request)
		}
		if err != nil {
			answer.Error = err.Error()
		}
		if text, err := json.Marshal(answer); err == nil {
			_ = msg.Respond(text) // the applicant asks again
		}
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

// knows reports whether that is the key of the machine with that name.
func (h *hosts) knows(name, key string) bool {
	if !hostName.MatchString(name) {
		return false
	}
	known, err := readHost(hostFile(h.dir, name))
	return err == nil && known.Key == key
}

// allHosts returns the machines that have joined, by name.
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
