package account

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

// given are settings of a session, and their file.
type given struct {
	file string
	data []byte
	err  error // the file exists, but could not be read
}

// allSettings returns the settings of a session. Later ones override earlier ones.
func (a *Account) allSettings(s resume.Session, dir string) []given {
	var files []string
	for _, place := range []string{a.of.Homes.Of(s.Transcript), filepath.Join(dir, ".claude")} {
		files = append(files, filepath.Join(place, "settings.json"), filepath.Join(place, "settings.local.json"))
	}
	const flag, managed = "--settings", "/etc/claude-code/managed-settings.json"
	return read(flag, append(append(files, startedWith(s, flag)...), managed))
}

// startedWith returns the values of a flag that the session is continued with.
func startedWith(s resume.Session, flag string) []string {
	o := s.StartedWith()
	if o == nil {
		return nil
	}
	return startup.Flags.Parse(startup.Flags.Carry(*o).Args).Values(flag)
}

// read returns the settings of files, or those that a flag contains instead of a path.
func read(flag string, files []string) (all []given) {
	for _, file := range files {
		if strings.HasPrefix(strings.TrimSpace(file), "{") {
			all = append(all, given{file: flag, data: []byte(file)})
		} else if data, err := agent.ReadSettings(file); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, given{file, data, err})
		}
	}
	return all
}

// Settings are those that decide how a session is continued; empty: not set.
type Settings struct {
	EditorMode  string `json:"editorMode"`
	Permissions struct {
		DefaultMode string `json:"defaultMode"` // of a session started without a mode flag
	} `json:"permissions"`
}

// Settings returns the settings of a session.
func (a *Account) Settings(s resume.Session, dir string) (set Settings) {
	for _, file := range a.allSettings(s, dir) {
		_ = json.Unmarshal(file.data, &set) // a file that cannot be read sets nothing
	}
	return set
}

// servers returns the settings that name MCP servers of a session. Claude Code starts them or
// connects to them, and expands variables of its environment in them. They are in the project
// directory and its parents, in flags, and in the user's configuration.
func (a *Account) servers(s resume.Session, dir string) []given {
	files := []string{filepath.Join(dir, ".mcp.json")}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		files = append(files, filepath.Join(filepath.Dir(at), ".mcp.json"))
	}
	const flag = "--mcp-config"
	return append(read(flag, append(files, startedWith(s, flag)...)), a.configured(s, dir)...)
}

// configured returns the MCP servers in the user's configuration: global ones, and those of the
// session's directory or its parents.
func (a *Account) configured(s resume.Session, dir string) (all []given) {
	type part struct {
		Servers json.RawMessage `json:"mcpServers"`
	}
	var config struct {
		part
		Projects map[string]part `json:"projects"`
	}
	file := a.ConfigFile(a.of.Homes.Of(s.Transcript))
	found := read("", []string{file})
	if len(found) > 0 && json.Unmarshal(found[0].data, &config) != nil {
		return found // divert reports that it cannot be read
	}
	parts := []part{config.part}
	for project, its := range config.Projects {
		if strings.HasPrefix(dir+"/", strings.TrimSuffix(project, "/")+"/") {
			parts = append(parts, its)
		}
	}
	for _, its := range parts {
		if its.Servers != nil {
			all = append(all, given{file: file, data: its.Servers})
		}
	}
	return all
}
