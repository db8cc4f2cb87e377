package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats-server/v2/server"

	"resumed/internal/fleet/natskv"
	"resumed/internal/fsevents"
)

// Remove shuts a host out, and returns the invitation for those to come. The one that the host
// holds would let it in again by itself, so that it is worth nothing from now on. A hub that
// runs sees it at once.
func Remove(dir, name string) (natskv.Invitation, error) {
	if _, err := read(dir); errors.Is(err, fs.ErrNotExist) {
		return natskv.Invitation{}, noHub(dir)
	}
	file := hostFile(dir, name)
	if _, err := os.Lstat(file); !hostName.MatchString(name) || errors.Is(err, fs.ErrNotExist) {
		return natskv.Invitation{}, fmt.Errorf("there is no host called %q in this hub: %s", name, listed(dir))
	}
	next, err := Renew(dir)
	if err != nil {
		return next, err
	}
	if err := os.Remove(file); err != nil {
		return natskv.Invitation{}, fmt.Errorf("remove the host: %w", err)
	}
	return next, nil
}

// Renew makes a new invitation. The one before invites nobody any more.
func Renew(dir string) (natskv.Invitation, error) {
	s, err := read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return natskv.Invitation{}, noHub(dir)
	}
	if err != nil {
		return natskv.Invitation{}, err
	}
	_, _ = rand.Read(s.Guest) // never fails
	if err := s.write(dir); err != nil {
		return natskv.Invitation{}, fmt.Errorf("write the hub's settings: %w", err)
	}
	return s.invitation(dir)
}

func noHub(dir string) error {
	return fmt.Errorf("there is no hub in %s: make one with `resumed hub init --dir %s`", dir, dir)
}

// listed says which hosts there are.
func listed(dir string) string {
	files, err := filepath.Glob(hostFile(dir, "*"))
	if err != nil || len(files) == 0 {
		return "nobody has joined"
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	return "it knows " + strings.Join(files, ", ")
}

// keepOut ends the connections of who is shut out while it is connected, until ctx is done.
func (h *hosts) keepOut(ctx context.Context, ns *server.Server, log *slog.Logger, ready func()) error {
	listener, err := fsevents.New()
	if err != nil {
		return fmt.Errorf("watch the hub's directory: %w", err)
	}
	defer func() { _ = listener.Close() }()
	for _, dir := range []string{h.dir, filepath.Join(h.dir, hostsDir)} {
		if err := listener.Add(dir); err != nil {
			return fmt.Errorf("watch the hub's directory: %w", err)
		}
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
			log.Warn("the hub's directory is watched with gaps", "err", err)
		}
		if err != nil || slices.ContainsFunc(events, shutsOut) {
			h.disconnect(ns, log)
		}
	}
}

// shutsOut reports whether somebody may be shut out by that: a host is removed, or the line replaced.
func shutsOut(e fsnotify.Event) bool {
	return e.Has(fsnotify.Remove) || filepath.Base(e.Name) == settingsFile
}

// disconnect ends the connections of those who would not be let in now.
func (h *hosts) disconnect(ns *server.Server, log *slog.Logger) {
	known := h.named()
	known[h.hub], known[h.guest()] = "", ""
	known[""] = "" // who has not said yet by which key they come is looked at when they do
	const page = 1000
	for from := 0; ; from += page {
		open, err := ns.Connz(&server.ConnzOptions{Username: true, Offset: from, Limit: page})
		if err != nil {
			log.Error("cannot see who is connected: restart the hub", "err", err)
			return
		}
		for _, c := range open.Conns {
			if _, in := known[c.AuthorizedUser]; !in {
				log.Info("a host that was removed is disconnected", "host", natskv.HostOf(c.Name))
				_ = ns.DisconnectClientByID(c.Cid) // it may have left by itself
			}
		}
		if len(open.Conns) < page {
			return
		}
	}
}
