package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"resumed/internal/fleet/natskv"
	"resumed/internal/fsevents"
)

// Remove removes a machine. It could join again by itself with its old line, so that line is
// invalidated too. A running hub notices it at once.
func Remove(dir, name string) error {
	_, err := update(dir, func(s *settings) error {
		gone, err := readHost(hostFile(dir, name))
		if !hostName.MatchString(name) || errors.Is(err, fs.ErrNotExist) {
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

// Machine is a machine that a hub knows.
type Machine struct {
	Name  string    `json:"name"`
	Since time.Time `json:"joined_at"`
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
		l.Machines = append(l.Machines, Machine{known.Name, known.Since})
	}
	for _, open := range s.Lines {
		l.Lines = append(l.Lines, open.Line)
	}
	return l, nil
}

// listed says which hosts there are, for an error message.
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
			if name := strings.TrimSuffix(filepath.Base(e.Name), ".json"); e.Has(fsnotify.Remove) && hostName.MatchString(name) {
				h.disconnect()
				if _, err := cutHost(nc, name, 0, 0); err != nil {
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
