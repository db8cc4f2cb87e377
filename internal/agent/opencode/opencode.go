// Package opencode knows opencode: where its database is, what a row of it
// means, which process lives in a session's directory, and how a session is
// continued.
package opencode

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"resumed/internal/agent"
)

// Name is opencode's name in configuration, status and metrics.
const Name = "opencode"

// Builtin is opencode in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "opencode",
	Headless:  "opencode run",
	Server:    true,
	Variables: []string{"OPENCODE_DB"},
	Plugin:    func() (path, text string) { return PluginFile(), Plugin(EventsFile()) },
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
}

// Options says which opencode is meant: Roots are data directories; without any
// it is that of $OPENCODE_DB, else $XDG_DATA_HOME/opencode.
type Options = agent.Options

// Agent is opencode with its databases.
type Agent struct {
	agent.Base
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
	only    string // the name of its one database; empty: all that opencode's channels make
}

// rescan is the pause between two looks by the clock, for file systems that
// send no events.
const rescan = time.Minute

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	a := &Agent{
		Base:     agent.NewBase(agent.About{Name: Name, Program: "opencode", Is: isProgram, ByHand: "--session", Flags: flags, Variables: variables, Places: []string{".opencode/bin"}}, o),
		events:   EventsFile(),
		rescan:   rescan,
		looks:    make(chan look),
		finished: make(chan struct{}),
	}
	usual, found := usualHome(a.UserDir)
	var bad []error
	if o.Server != "" {
		server, err := url.Parse(o.Server)
		if err != nil {
			bad = append(bad, fmt.Errorf("server of %s: %w", Name, err))
		}
		a.server = server
	}
	if len(o.Roots) == 0 {
		if !found {
			return nil, errors.Join(append(bad, fmt.Errorf("find the data directory of %s: $HOME is not set", Name))...)
		}
		a.homes = []home{usual}
	}
	for _, root := range o.Roots {
		if !filepath.IsAbs(root) {
			bad = append(bad, fmt.Errorf("root %q of %s is not an absolute path", root, Name))
			continue
		}
		h := home{dir: filepath.Clean(root)}
		h.account = Name + ":" + h.dir
		if found && h.dir == usual.dir {
			h = usual
		}
		if !slices.Contains(a.homes, h) {
			a.homes = append(a.homes, h)
		}
	}
	return a, errors.Join(bad...)
}

// usualHome returns where opencode keeps its data when nobody says otherwise.
func usualHome(userDir string) (home, bool) {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) && userDir != "" {
		data = filepath.Join(userDir, ".local", "share")
	}
	h := home{dir: filepath.Join(data, "opencode"), account: Name + ":default"}
	switch db := os.Getenv("OPENCODE_DB"); {
	case db == "" || db == ":memory:":
	case filepath.IsAbs(db):
		h.dir, h.only = filepath.Dir(db), filepath.Base(db)
	default:
		path := filepath.Join(h.dir, db)
		h.dir, h.only = filepath.Dir(path), filepath.Base(path)
	}
	return h, filepath.IsAbs(h.dir)
}

// has reports whether a file of that name is one of the home's databases. Each
// release channel of opencode has its own.
func (h home) has(name string) bool {
	if h.only != "" {
		return name == h.only
	}
	return name == "opencode.db" ||
		strings.HasPrefix(name, "opencode-") && strings.HasSuffix(name, ".db")
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
