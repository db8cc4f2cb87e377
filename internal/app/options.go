package app

import (
	"log/slog"
	"os"

	"resumed/internal/config"
	"resumed/internal/mounts"
	"resumed/internal/resume"
)

// Options configure a daemon.
type Options struct {
	ConfigPath string        // the file that is watched; "": built-in defaults
	Config     config.Config // its content
	StateDir   string
	RuntimeDir string
	LeaseDirs  []string // where programs agree on which of them continues a session
	Version    string
	DryRun     bool // decide and log everything, start nothing

	Log   *slog.Logger
	Level *slog.LevelVar // set to log.level; nil: not changed

	Reload <-chan os.Signal    // asks for a reload; may be nil
	Ready  func()              // called when the daemon watches; may be nil
	Seen   func(resume.Change) // called for every change, for tests and logs; must not block; may be nil

	Network func(path string) string // returns the shared file system that a file is on, if any; nil: mounts.Network
}

func (o Options) network(path string) string {
	if o.Network != nil {
		return o.Network(path)
	}
	return mounts.Network(path)
}
