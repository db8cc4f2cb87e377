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

// given are settings of a session, and the file that holds them.
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

// read returns the settings of a file, or those that a flag has in place of a file.
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

// servers yields what names the MCP servers of a session, which Claude Code starts or asks, and in
// which it puts variables of its own environment: beside the project and above it, in flags, and
// in what Claude Code keeps of its user.
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

// configured returns the servers that the user of a session has set up in Claude Code: everywhere,
// and in the session's directory or one above it.
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
		return []given{found} // which says that it cannot be read
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
