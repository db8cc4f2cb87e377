package app

import (
	"log/slog"

	"resumed/internal/config"
	"resumed/internal/mounts"
	"resumed/internal/resume"
)

// Options are what a daemon is made of.
type Options struct {
	ConfigPath string        // the file that is watched; "": built-in defaults
	Config     config.Config // what it says
	StateDir   string
	RuntimeDir string
	LeaseDirs  []string // where it is agreed who looks after a session
	Version    string
	DryRun     bool // decide and log everything, start nothing

	Log   *slog.Logger
	Level *slog.LevelVar // follows log.level; nil: it stays as it is

	Reload <-chan struct{}     // asks for a reload, as SIGHUP does; may be nil
	Ready  func()              // called when the daemon watches; may be nil
	Seen   func(resume.Change) // told every step, as a log is; must not block; may be nil

	Network func(path string) string // which file system of several machines a file lies on, if any; nil: as mounts says
}

func (o Options) network(path string) string {
	if o.Network != nil {
		return o.Network(path)
	}
	return mounts.Network(path)
}
