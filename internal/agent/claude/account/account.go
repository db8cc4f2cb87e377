// Package account determines the account of a Claude Code session: the login, the API key, and
// the state of the account's allowances.
package account

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// Keys are the variables with a key. Each one overrides the signed-in account.
var Keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

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
}

// allSettings returns the settings of a session. Later ones override earlier ones.
func (a *Account) allSettings(s resume.Session, dir string) (all []given) {
	var files []string
	for _, place := range []string{a.of.Homes.Of(s.Transcript), filepath.Join(dir, ".claude")} {
		files = append(files, filepath.Join(place, "settings.json"), filepath.Join(place, "settings.local.json"))
	}
	const flag, managed = "--settings", "/etc/claude-code/managed-settings.json"
	if o := s.StartedWith(); o != nil {
		files = append(files, startup.Flags.Parse(startup.Flags.Carry(*o).Args).Values(flag)...)
	}
	for _, file := range append(files, managed) {
		if strings.HasPrefix(strings.TrimSpace(file), "{") { // the flag contains them, and no path
			all = append(all, given{flag, []byte(file)})
		} else if data, err := agent.ReadSettings(file); err == nil {
			all = append(all, given{file, data})
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
