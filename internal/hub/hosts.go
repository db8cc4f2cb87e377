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
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"resumed/internal/atomicfile"
	"resumed/internal/fleet/natskv"
)

// hosts are the machines that were let in, a file each, and who may ask to be. The file of a machine
// is read for each of its connections, so that nothing has to be told of a change.
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
	Since   time.Time `json:"since"`
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// let lets a host in. A name belongs to the first who came with it.
func (h *hosts) let(request natskv.Request) error {
	if !hostName.MatchString(request.Name) {
		return errors.New("the name must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit: choose one by --name")
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
		return fmt.Errorf("a host called %s is there already: choose another name by --name; if it is this very machine, run `resumed hub remove %[1]s` on the hub's and join again with the line that it prints", request.Name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := json.MarshalIndent(host{1, request.Name, request.Key, time.Now().UTC().Truncate(time.Second)}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(text, '\n'), 0o600)
}

func readHost(file string) (host, error) {
	var known host
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	return known, err
}

// host returns the file of a machine, by the name that it says it has.
func (h *hosts) host(name string) (host, error) {
	if !hostName.MatchString(name) {
		return host{}, fs.ErrNotExist
	}
	return readHost(hostFile(h.dir, name))
}

// named returns who holds which key.
func (h *hosts) named() map[string]string {
	files, _ := filepath.Glob(hostFile(h.dir, "*")) // the pattern is a good one
	names := make(map[string]string, len(files))
	for _, file := range files {
		known, err := readHost(file)
		if err == nil && strings.TrimSuffix(filepath.Base(file), ".json") == known.Name {
			names[known.Key] = known.Name
		}
	}
	return names
}

// guest returns the key of who holds the invitation, or "".
func (h *hosts) guest() string {
	s, err := read(h.dir)
	if err != nil {
		return ""
	}
	key, err := natskv.GuestKey(s.Guest)
	if err != nil {
		return ""
	}
	return key
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
	user, rights := "guest", natskv.GuestRights()
	if o.Nkey != h.guest() {
		user = natskv.HostOf(o.Name)
		known, err := h.host(user)
		if err != nil || known.Key != o.Nkey {
			return false
		}
		rights = natskv.HostRights(user)
	}
	own, err := h.account(user, rights)
	if err != nil {
		h.log.Error("a machine cannot be let in", "host", user, "err", err)
		return false
	}
	c.RegisterUser(&server.User{Username: user, Permissions: permissions(rights), Account: own})
	return true
}

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
	return streams.AddStreamExport("resumed.v1.>", nil)
}

// account returns the account of one machine. The server checks where a user publishes, but not where the
// answers go that it asks for: those go anywhere in its account. So each machine has one of its own, in
// which there is nothing but what its rights bring in.
func (h *hosts) account(user string, r natskv.Rights) (*server.Account, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own, isNew := h.ns.LookupOrRegisterAccount("resumed." + user)
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
