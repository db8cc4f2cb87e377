package account

import (
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

// allSettings yields what settings a session has.
func (a *Account) allSettings(s resume.Session, dir string) iter.Seq[given] {
	return func(yield func(given) bool) {
		files := []string{managedSettings}
		if o := s.StartedWith(); o != nil {
			if value := startup.Flags.Parse(o.Args).Value("--settings"); strings.HasPrefix(strings.TrimSpace(value), "{") {
				if !yield(given{file: "--settings", data: []byte(value)}) {
					return
				}
			} else if value != "" {
				files = append(files, value)
			}
		}
		for _, place := range []string{a.of.Homes.Of(s.Transcript), filepath.Join(dir, ".claude")} {
			files = append(files, filepath.Join(place, "settings.json"), filepath.Join(place, "settings.local.json"))
		}
		for _, file := range files {
			data, err := agent.ReadSettings(file)
			if !errors.Is(err, fs.ErrNotExist) && !yield(given{file, data, err}) {
				return
			}
		}
	}
}

const managedSettings = "/etc/claude-code/managed-settings.json"
