// Package account determines the account of a Claude Code session: the login, the API key, and
// the state of the account's allowances.
package account

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Account answers this for the sessions in an agent's homes.
type Account struct {
	of    *agent.Transcripts
	usage agent.Settings[cached]
}

// New returns the Account of an agent.
func New(of *agent.Transcripts) *Account { return &Account{of: of} }

// cached is what Claude Code stores in .claude.json when a person opens /usage, in percent.
type cached struct {
	FetchedAt   int64 `json:"fetchedAtMs"`
	Utilization struct {
		FiveHour allowance `json:"five_hour"`
		SevenDay allowance `json:"seven_day"`
	} `json:"utilization"`
}

type allowance struct {
	Used     float64   `json:"utilization"`
	ResetsAt time.Time `json:"resets_at"`
}

// Optional reports which variables may be missing: those of clouds, if nothing makes the session use one.
func (a *Account) Optional(s resume.Session, dir string) func(string) bool {
	switches := func(v resume.Variable) bool { return strings.HasPrefix(v.Name, startup.CloudSwitch) }
	names := func(g given) bool { return bytes.Contains(g.data, []byte(startup.CloudSwitch)) }
	return func(name string) bool {
		o := s.StartedWith()
		return startup.IsCloud(name) && (o == nil || !slices.ContainsFunc(o.Env, switches)) && !slices.ContainsFunc(a.allSettings(s, dir), names)
	}
}

// shortWindow is the window near whose end Claude Code lets a turn end.
const shortWindow, longWindow = 5 * time.Hour, 7 * 24 * time.Hour

// Usage has the reset time of a turn that Claude Code let end near the limit, which the record lacks.
func (a *Account) Usage(_ context.Context, s resume.Session) (resume.Usage, bool, error) {
	told, ok := a.told(s)
	if !ok {
		return resume.Usage{}, false, nil
	}
	found := resume.Usage{
		At: time.UnixMilli(told.FetchedAt), WeekUsed: told.Utilization.SevenDay.Used, WeekResetsAt: told.Utilization.SevenDay.ResetsAt,
	}
	lifts := told.Utilization.FiveHour.ResetsAt
	if transcript.LetEnd(s.LimitText) && lifts.After(s.LimitedAt) && lifts.Sub(s.LimitedAt) <= shortWindow {
		found.Lifts = lifts // else it belongs to an earlier window
	}
	return found, !found.WeekResetsAt.IsZero() || !found.Lifts.IsZero(), nil
}

// Readings returns what Claude Code stores about each window.
func (a *Account) Readings(_ context.Context, s resume.Session) ([]usage.Reading, error) {
	told, ok := a.told(s)
	if !ok {
		return nil, nil
	}
	return readings(told.Utilization.FiveHour, told.Utilization.SevenDay, time.UnixMilli(told.FetchedAt)), nil
}

// readings returns the states of the windows at that time. A window without a reset is not known.
func readings(short, long allowance, at time.Time) (all []usage.Reading) {
	for length, window := range map[time.Duration]allowance{shortWindow: short, longWindow: long} {
		if !window.ResetsAt.IsZero() {
			all = append(all, usage.Reading{Kind: usage.Kind(length), Length: length, Used: window.Used, ResetsAt: window.ResetsAt, At: at})
		}
	}
	return all
}

func (a *Account) told(s resume.Session) (cached, bool) {
	root := filepath.Dir(filepath.Dir(filepath.Dir(s.Transcript)))
	return a.usage.Read(a.ConfigFile(root), func(data []byte) (cached, bool) {
		var config struct {
			Cached cached `json:"cachedUsageUtilization"`
		}
		err := json.Unmarshal(data, &config) // the file may be half written
		return config.Cached, err == nil && config.Cached.FetchedAt > 0
	})
}

// ConfigFile returns the file in which Claude Code stores its state for a home.
func (a *Account) ConfigFile(home string) string {
	if home == filepath.Join(a.of.UserDir, ".claude") {
		return filepath.Join(a.of.UserDir, ".claude.json") // beside the usual home,
	}
	return filepath.Join(home, ".claude.json") // and in any other home
}

// StatusLine parses what Claude Code passes to its status line command, as of the last answer.
func StatusLine(said []byte, now time.Time) (session string, all []usage.Reading) {
	var input struct {
		Session string `json:"session_id"`
		Limits  struct {
			FiveHour shownWindow `json:"five_hour"`
			SevenDay shownWindow `json:"seven_day"`
		} `json:"rate_limits"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", nil
	}
	return input.Session, readings(input.Limits.FiveHour.allowance(), input.Limits.SevenDay.allowance(), now)
}

type shownWindow struct {
	Used     float64 `json:"used_percentage"`
	ResetsAt float64 `json:"resets_at"` // epoch seconds
}

func (w shownWindow) allowance() allowance {
	at, _ := limit.Epoch(w.ResetsAt) // zero: not known
	return allowance{w.Used, at}
}

// WhyNotOwnKey returns why a run would not use the user's own key, or would leak it; empty: no reason.
func (a *Account) WhyNotOwnKey(s resume.Session, dir string, environ []string) string {
	variables := make(map[string]string)
	for _, entry := range environ { // the last entry of a name counts
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	for _, name := range deciding {
		if name != "CLAUDE_CODE_OAUTH_TOKEN" && variables[name] != "" {
			return "it uses no subscription: its environment has " + name
		}
	}
	if at := variables["ANTHROPIC_BASE_URL"]; at != "" && !trusted(at) {
		return "your own key would be shown to " + hostOf(at) + ", which is what its ANTHROPIC_BASE_URL says"
	}
	for _, settings := range a.allSettings(s, dir) {
		if why := settings.divert(true); why != "" {
			return settings.file + " " + why
		}
	}
	for _, servers := range a.servers(s, dir) {
		if why := servers.divert(false); why != "" {
			return servers.file + " " + why
		}
	}
	return ""
}

// diverting settings send a request elsewhere or with another key. A project has its own, of other people.
var diverting = []string{
	"ANTHROPIC_*", "apiKeyHelper", startup.CloudSwitch + "*", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	"NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_*",
}

// harmless are names that match diverting but only choose the model.
var harmless = []string{"ANTHROPIC_MODEL", "ANTHROPIC_*_MODEL", "ANTHROPIC_*_MODEL_*"}

// divert returns why these settings may leak a key; empty: they do not. Unreadable settings may
// do anything. Settings that name the variable of the key may forward or read it. own says that
// they are settings of the session itself, not of a server that it starts.
func (g given) divert(own bool) string {
	var all any
	if g.err != nil || json.Unmarshal(g.data, &all) != nil {
		return "cannot be read, and might say to whom your own key is shown"
	}
	if name := diverts(all); name != "" && own {
		return "says by itself whom it asks or with which key (" + name + ")"
	}
	if plain, _ := json.Marshal(all); bytes.Contains(plain, []byte(KeyVariable)) { // decoded: a name may be escaped
		return "names " + KeyVariable + ": your own key would be given to what it starts or asks"
	}
	return ""
}

// diverts returns the pattern of a name in settings that may send a key elsewhere.
func diverts(settings any) string {
	var inside iter.Seq[any]
	switch settings := settings.(type) {
	case map[string]any:
		for name := range settings {
			if what := like(name, diverting); what != "" && like(name, harmless) == "" {
				return what
			}
		}
		inside = maps.Values(settings)
	case []any:
		inside = slices.Values(settings)
	default:
		return ""
	}
	for part := range inside {
		if name := diverts(part); name != "" {
			return name
		}
	}
	return ""
}

func like(name string, patterns []string) string {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return pattern
		}
	}
	return ""
}

// trusted: a program on this machine sees the conversation anyway.
func trusted(address string) bool {
	host := hostOf(address)
	return host == "api.anthropic.com" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "another host"
	}
	return u.Hostname()
}

// KeyVariable is the variable for an API key. It overrides the signed-in account.
const KeyVariable = "ANTHROPIC_API_KEY"

// Keys are the variables with a key. Each one overrides the signed-in account.
var Keys = []string{KeyVariable, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

var deciding = slices.Concat(Keys, []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"})

// Login returns the signed-in account and its organisation.
func Login(variable func(string) string) string {
	home := cmp.Or(variable(startup.HomeVariable), variable("HOME"))
	if home == "" || slices.ContainsFunc(deciding, func(key string) bool { return variable(key) != "" }) {
		return ""
	}
	var settings struct {
		Account struct {
			ID           string `json:"accountUuid"`
			Organisation string `json:"organizationUuid"`
		} `json:"oauthAccount"`
	}
	if !agent.ReadRewritten(filepath.Join(home, ".claude.json"), &settings) {
		return ""
	}
	return settings.Account.ID + settings.Account.Organisation
}

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

// Acting returns the settings of a session that make Claude Code act by itself when it starts, and the variable with which they
// do; empty: none do. They outdo the environment of a run.
func (a *Account) Acting(s resume.Session, dir string) (file, variable string) {
	for _, given := range a.allSettings(s, dir) {
		var set struct {
			Env map[string]any `json:"env"`
		}
		_ = json.Unmarshal(given.data, &set) // a file that cannot be read sets nothing
		off := func(_ string, value any) bool { return slices.Contains([]string{"", "0", "false"}, fmt.Sprint(value)) }
		maps.DeleteFunc(set.Env, off)
		if names := startup.Variables.Acting(slices.Collect(maps.Keys(set.Env))); len(names) > 0 {
			return given.file, names[0]
		}
	}
	return "", ""
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

// configured returns the MCP servers in the user's configuration, for all or for the session's directory.
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
