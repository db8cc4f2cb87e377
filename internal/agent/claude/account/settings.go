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

// given are settings of a session, and their file.
type given struct {
	file string
	data []byte
	err  error // the file exists, but could not be read
}

// allSettings yields the settings of a session. Later ones override earlier ones.
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

// read returns the settings of a file, or those that a flag contains instead of a path.
func read(flag, file string) (found given, there bool) {
	if strings.HasPrefix(strings.TrimSpace(file), "{") {
		return given{file: flag, data: []byte(file)}, true
	}
	data, err := agent.ReadSettings(file)
	return given{file, data, err}, !errors.Is(err, fs.ErrNotExist)
}

// DefaultMode returns the permission mode that settings give to a session started without a
// mode flag; empty: none.
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

// servers yields the settings that name MCP servers of a session. Claude Code starts them or
// connects to them, and expands variables of its environment in them. They are in the project
// directory and its parents, in flags, and in the user's configuration.
func (a *Account) servers(s resume.Session, dir string) iter.Seq[given] {
	return func(yield func(given) bool) {
		var files []string
		for at := dir; ; at = filepath.Dir(at) {
			files = append(files, filepath.Join(at, ".mcp.json"))
			if at == filepath.Dir(at) {
				break
			}
		}
		if o := s.StartedWith(); o != nil {
			files = append(files, startup.Flags.Parse(startup.Flags.Carry(*o).Args).Values(mcpFlag)...)
		}
		for _, file := range files {
			if found, there := read(mcpFlag, file); there && !yield(found) {
				return
			}
		}
		for _, found := range a.configured(s, dir) {
			if !yield(found) {
				return
			}
		}
	}
}

const mcpFlag = "--mcp-config"

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
	found, there := read("", file)
	if there && json.Unmarshal(found.data, &config) != nil {
		return []given{found} // divert reports that it cannot be read
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
