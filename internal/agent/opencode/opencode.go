// Package opencode knows opencode, and Kilo, which was made of it: where their
// databases are, what a row means, which process lives in a session's directory,
// and how a session is continued.
package opencode

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"resumed/internal/agent"
)

// The names of opencode and of Kilo in configuration, status and metrics.
const (
	Name     = "opencode"
	KiloName = "kilo"
)

// Builtin and Kilo are both in the list of agents.
var (
	Builtin = openCode.builtin()
	Kilo    = kilo.builtin()
)

// Options says which installation is meant: Roots are data directories; without
// any it is that of $OPENCODE_DB, else $XDG_DATA_HOME/opencode, and so for Kilo.
type Options = agent.Options

// Agent is opencode, or one of its kind, with its databases.
type Agent struct {
	agent.Base
	brand  *brand
	server *url.URL // nil: none
	homes  []home
	events string // the file that the plugin writes
	rescan time.Duration
	deaf   bool // as on a file system that sends no events

	retries  retries
	followed atomic.Bool
	looks    chan look
	finished chan struct{} // closed when Follow has returned
}

var _ agent.Follower = (*Agent)(nil)

// home is one data directory: one account.
type home struct {
	dir     string
	account string
	only    string // the name of its one database; empty: all that release channels make
	brand   *brand
}

// rescan is the pause between two looks by the clock, for file systems that
// send no events.
const rescan = time.Minute

// New returns opencode. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) { return openCode.make(o) }

func (b *brand) make(o Options) (*Agent, error) {
	a := &Agent{
		Base:     agent.NewBase(agent.About{Name: b.name, Program: b.program, Is: b.isProgram, ByHand: "--session", Flags: flags, Variables: b.variables(), Places: b.places}, o),
		brand:    b,
		events:   b.eventsFile(),
		rescan:   rescan,
		looks:    make(chan look),
		finished: make(chan struct{}),
	}
	usual, found := b.usualHome(a.UserDir)
	var bad []error
	if o.Server != "" {
		server, err := url.Parse(o.Server)
		if err != nil {
			bad = append(bad, fmt.Errorf("server of %s: %w", b.name, err))
		}
		a.server = server
	}
	if len(o.Roots) == 0 {
		if !found {
			return nil, errors.Join(append(bad, fmt.Errorf("find the data directory of %s: $HOME is not set", b.name))...)
		}
		a.homes = []home{usual}
	}
	for _, root := range o.Roots {
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, b.name))
			continue
		}
		h := home{dir: filepath.Clean(root), brand: b}
		h.account = b.name + ":" + h.dir
		if found && h.dir == usual.dir {
			h = usual
		}
		if !slices.Contains(a.homes, h) {
			a.homes = append(a.homes, h)
		}
	}
	return a, errors.Join(bad...)
}

// usualHome returns where data is kept when nobody says otherwise.
func (b *brand) usualHome(userDir string) (home, bool) {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) && userDir != "" {
		data = filepath.Join(userDir, ".local", "share")
	}
	h := home{dir: filepath.Join(data, b.program), account: b.name + ":default", brand: b}
	switch db := os.Getenv(b.variable("DB")); {
	case db == "" || db == ":memory:":
	case filepath.IsAbs(db):
		h.dir, h.only = filepath.Dir(db), filepath.Base(db)
	default:
		path := filepath.Join(h.dir, db)
		h.dir, h.only = filepath.Dir(path), filepath.Base(path)
	}
	return h, filepath.IsAbs(h.dir)
}

// has reports whether a file of that name is one of the home's databases.
func (h home) has(name string) bool {
	if h.only != "" {
		return name == h.only
	}
	return h.brand.isDatabase(name)
}

// databases returns the paths of the databases there are.
func (h home) databases() ([]string, error) {
	entries, err := os.ReadDir(h.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		if h.has(entry.Name()) && !entry.IsDir() {
			paths = append(paths, filepath.Join(h.dir, entry.Name()))
		}
	}
	return paths, nil
}

// homeOf returns the data directory that the database lies in. One from
// elsewhere is read as if it lay in the first.
func (a *Agent) homeOf(path string) home {
	for _, h := range a.homes {
		if filepath.Dir(path) == h.dir && h.has(filepath.Base(path)) {
			return h
		}
	}
	return a.homes[0]
}
