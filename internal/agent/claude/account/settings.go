package account

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

// given are settings of a session, and where they stand. They are not there: nothing is given.
type given struct {
	file string
	data []byte
	err  error // they are there, and could not be read
}

// allSettings yields what settings a session has. Of two that say something else the later counts.
func (a *Account) allSettings(s resume.Session, dir string) iter.Seq[given] {
	return func(yield func(given) bool) {
		var files []string
		for _, place := range []string{a.of.Homes.Of(s.Transcript), filepath.Join(dir, ".claude")} {
			files = append(files, filepath.Join(place, "settings.json"), filepath.Join(place, "settings.local.json"))
		}
		if o := s.StartedWith(); o != nil {
			if value := startup.Flags.Parse(startup.Flags.Carry(*o).Args).Value("--settings"); value != "" {
				files = append(files, value)
			}
		}
		for _, file := range append(files, managedSettings) {
			if found, there := read("--settings", file); there && !yield(found) {
				return
			}
		}
	}
}

// read returns the settings of a file, or those that stand in place of one behind a flag.
func read(flag, file string) (found given, there bool) {
	if strings.HasPrefix(strings.TrimSpace(file), "{") {
		return given{file: flag, data: []byte(file)}, true
	}
	data, err := agent.ReadSettings(file)
	return given{file, data, err}, !errors.Is(err, fs.ErrNotExist)
}

// DefaultMode returns the permission mode in which settings have a session start that no flag
// gives one; empty: they say nothing of it.
func (a *Account) DefaultMode(s resume.Session, dir string) (mode string) {
	for settings := range a.allSettings(s, dir) {
		var said struct {
			Permissions struct {
				DefaultMode string `json:"defaultMode"`
			} `json:"permissions"`
		}
		if json.Unmarshal(settings.data, &said) == nil {
			mode = cmp.Or(said.Permissions.DefaultMode, mode)
		}
	}
	return mode
}

const managedSettings = "/etc/claude-code/managed-settings.json"
