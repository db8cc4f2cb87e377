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
	"github.com/nats-io/nkeys"

	"resumed/internal/fleet/natskv"
)

// hosts judges connections to the hub: by the files of the machines that have joined, and by the join
// lines. The file of a machine is read for each of its connections, so that a change counts at once.
type hosts struct {
	dir string // the hub's
	hub string // by what the hub itself is known, as a client of its server
	log *slog.Logger
	ns  *server.Server

	mu sync.Mutex // one is let in, and one account is made, at a time
}

func hostFile(dir, name string) string { return filepath.Join(dir, hostsDir, name+".json") }

// host is the file of one.
type host struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Line    string    `json:"line"` // the key of the line that it joined with
	Since   time.Time `json:"since"`
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

var errName = errors.New("the name must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit: choose one by --name")

// let lets a host in that holds a line. A name belongs to the first host that came with it.
func (h *hosts) let(guest string, request natskv.Request) error {
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
	if err := h.spend(guest, request.Name); err != nil { // first: a line never lets in one more than it may
		return err
	}
	text, err := json.MarshalIndent(host{1, request.Name, request.Key, guest, time.Now().UTC().Truncate(time.Second)}, "", "  ")
	if err != nil {
		return err
	}
	if err := store(h.dir, filepath.Join(hostsDir, request.Name+".json"), append(text, '\n')); err != nil {
		return err
	}
	return machinesChanged(h.dir)
}

// spend counts a machine that is let in by the line of that key.
func (h *hosts) spend(guest, name string) error {
	_, err := update(h.dir, func(s *settings) error {
		at := slices.IndexFunc(s.Lines, func(l line) bool { return l.key() == guest })
		if at < 0 {
			return errors.New("this line lets nobody in any more: `resumed hub invite`, on the hub's machine, makes another")
		}
		return s.Lines[at].spend(name)
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

// knows reports whether that is the key of the machine of that name.
func (h *hosts) knows(name, key string) bool {
	if !hostName.MatchString(name) {
		return false
	}
	known, err := readHost(hostFile(h.dir, name))
	return err == nil && known.Key == key
}

// allHosts returns the machines that were let in, by name.
func allHosts(dir string) (all []host) {
	files, _ := filepath.Glob(hostFile(dir, "*")) // the pattern is a good one
	for _, file := range files {
		known, err := readHost(file)
		if err == nil && strings.TrimSuffix(filepath.Base(file), ".json") == known.Name {
			all = append(all, known)
		}
	}
	return all
}

// isGuest reports whether the holder of that key has a line that lets somebody in.
func (h *hosts) isGuest(key string) bool {
	s, err := read(h.dir)
	return err == nil && slices.ContainsFunc(s.Lines, func(l line) bool { return l.key() == key })
}

// Check lets a client in who proves to hold the key of a host, and gives it that host's
// rights. The server calls it for every connection.
func (h *hosts) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		if signature, err = base64.StdEncoding.DecodeString(o.Sig); err != nil {
			return false
		}
	}
	public, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || public.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	if o.Nkey == h.hub {
		return true
	}
	user := natskv.HostOf(o.Name)
	var rights natskv.Rights
	switch {
	case h.knows(user, o.Nkey):
		rights = natskv.HostRights(user)
	case h.isGuest(o.Nkey):
		user, rights = "guest."+o.Nkey, natskv.GuestRights(o.Nkey) // no host can be called so
	default:
		return false
	}
	own, err := h.account(user, rights)
	if err != nil {
		h.log.Error("a machine cannot be let in", "host", user, "err", err)
		return false
	}
	c.RegisterUser(&server.User{Username: user, Permissions: permissions(rights), Account: own})
	return true
}

// sharedSubjects are what machines are told of the fleet.
const sharedSubjects = "resumed.v1.>"

// offer makes the account of the streams, which is the hub's own, serve those of the machines.
func offer(streams *server.Account) error {
	for subject, many := range natskv.Services() {
		answers := server.Singleton
		if many {
			answers = server.Streamed
		}
		if err := streams.AddServiceExportWithResponse(subject, answers, nil); err != nil {
			return fmt.Errorf("offer %s: %w", subject, err)
		}
	}
	return streams.AddStreamExport(sharedSubjects, nil)
}

// accountOf names the account of a machine.
func accountOf(user string) string { return "resumed." + user }

// account returns the account of one machine. The server checks where a user publishes, but not where the
// answers go that it asks for: those go anywhere in its account. So each machine has one of its own, in
// which there is nothing but what its rights bring in.
func (h *hosts) account(user string, r natskv.Rights) (*server.Account, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own, isNew := h.ns.LookupOrRegisterAccount(accountOf(user))
	if !isNew {
		return own, nil
	}
	streams := h.ns.GlobalAccount()
	for _, subject := range r.Publish {
		if err := own.AddServiceImport(streams, subject, subject); err != nil {
			return nil, fmt.Errorf("bring in %s: %w", subject, err)
		}
	}
	for _, subject := range r.Subscribe {
		if err := own.AddStreamImport(streams, subject, ""); err != nil {
			return nil, fmt.Errorf("bring in %s: %w", subject, err)
		}
	}
	return own, nil
}

// permissions says rights in the server's words.
func permissions(r natskv.Rights) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: append([]string{r.Inbox}, r.Subscribe...)},
	}
}
