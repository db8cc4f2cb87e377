package hub

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// hosts are who was let in, a file each, and who may ask to be. They are read anew for every
// connection, so that nothing has to be told of a change.
type hosts struct {
	dir string // the hub's
	hub string // by what the hub itself is known, as a client of its server

	mu sync.Mutex // one is let in at a time
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
	switch o.Nkey {
	case h.hub:
		return true
	case h.guest():
		c.RegisterUser(&server.User{Username: "guest", Permissions: permissions(natskv.GuestRights())})
		return true
	}
	name, known := h.named()[o.Nkey]
	if known {
		c.RegisterUser(&server.User{Username: name, Permissions: permissions(natskv.HostRights(name))})
	}
	return known
}

// permissions says rights in the server's words. Who was asked something may answer.
func permissions(r natskv.Rights) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute},
	}
}
