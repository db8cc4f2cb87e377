package account

import (
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"

	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

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
