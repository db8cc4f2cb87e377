package codex

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Variables are those that matter to Codex, and those that its configuration names.
func (a *Agent) Variables() leash.Variables { return a.variables("", nil) }

// variables is Variables for a session in that directory with these arguments.
func (a *Agent) variables(dir string, args []string) (table leash.Variables) {
	for _, names := range a.named(dir, args) {
		table = append(table, leash.Row{Effect: leash.Account, Names: strings.Join(names, " ")})
	}
	return append(table, a.Base.Variables()...)
}

// spare returns which variables the session does not need: those of providers that it does not use.
// nil: its provider is not known.
func (a *Agent) spare(s resume.Session, h rollout.Head) func(string) bool {
	if h.Provider == "" {
		return nil
	}
	var args []string
	if o := s.StartedWith(); o != nil {
		args = o.Args
	}
	named := a.named(s.Cwd, args)
	needed := slices.Concat(named[h.Provider], named[anyProvider])
	if ignores, _ := h.Since(144); !ignores {
		needed = append(needed, usualKey)
	}
	if h.Provider == bedrock {
		needed = append(needed, strings.Fields(bedrockVariables)...)
	}
	others := append(strings.Fields(bedrockVariables), usualKey)
	for _, names := range named {
		others = append(others, names...)
	}
	return func(name string) bool { return slices.Contains(others, name) && !slices.Contains(needed, name) }
}

// anyProvider is for settings that do not contain the name of their provider.
const anyProvider = "*"

// named returns the variables that configurations and arguments name, by provider; empty: those of
// a tool.
func (a *Agent) named(dir string, args []string) map[string][]string {
	all := make(map[string][]string)
	for _, text := range a.configurations(dir) {
		nameIn(text, all)
	}
	for _, setting := range flags.Parse(args).Values("-c", "--config") {
		nameIn(setting, all)
	}
	return all
}

// configurations returns the content of the files that may configure a session of that directory.
func (a *Agent) configurations(dir string) []string {
	files := []string{"/etc/codex/config.toml"}
	for _, home := range append([]string{a.Homes.Usual}, a.Homes.Roots...) {
		files = append(files, filepath.Join(home, "config.toml"))
		profiles, _ := filepath.Glob(filepath.Join(home, "*.config.toml")) // errs on a bad pattern only
		files = append(files, profiles...)
	}
	if dir != "" {
		files = append(files, filepath.Join(dir, ".codex", "config.toml"))
	}
	texts := make([]string, len(files))
	for i, file := range files {
		text, _ := agent.ReadSettings(file) // an unreadable file counts as empty
		texts[i] = string(text)
	}
	return texts
}

var (
	// aTable is the header of a TOML table, aSetting a line in it.
	aTable   = regexp.MustCompile(`^\s*\[+\s*([^\]]+?)\s*\]`)
	aSetting = regexp.MustCompile(`^\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=\s*(.*)$`)

	// The name of a variable is the value of such a key, or in a table of headers.
	namingKey   = regexp.MustCompile(`(?:env_key|bearer_token_env_var)["']?\s*=\s*["']?([A-Za-z_]\w*)`)
	namingTable = regexp.MustCompile(`env_http_headers\b[^{=]*=\s*\{([^}]*)\}|env_http_headers\.[^=]*=(.*)`)
	aName       = regexp.MustCompile(`["']([A-Za-z_]\w*)["']\s*(?:,|$|#|\})`)
)

// nameIn adds the variables that a configuration names.
func nameIn(text string, all map[string][]string) {
	table := ""
	for line := range strings.Lines(text) {
		if found := aTable.FindStringSubmatch(line); found != nil {
			table = found[1] + "."
			continue
		}
		found := aSetting.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		setting := table + found[1] + " = " + strings.TrimSpace(found[2])
		parts := strings.FieldsFunc(table+found[1], func(r rune) bool { return strings.ContainsRune(`."' `, r) })
		provider := ""
		if len(parts) > 0 && parts[0] == "model_providers" {
			provider = append(parts, anyProvider)[1]
		}
		for _, name := range namingKey.FindAllStringSubmatch(setting, -1) {
			all[provider] = append(all[provider], name[1])
		}
		for _, headers := range namingTable.FindAllStringSubmatch(setting, -1) {
			for _, name := range aName.FindAllStringSubmatch(headers[1]+headers[2], -1) {
				all[provider] = append(all[provider], name[1])
			}
		}
	}
}
