package config

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/resume"
)

// validate returns every value and combination that cannot be meant.
func (c Config) validate(known Known) []*Problem {
	var found problems
	c.Log.validate(&found)
	c.Resume.validate(&found)
	c.Backoff.validate(&found)
	c.validateAgents(&found, known)
	c.Notify.validate(&found)
	c.History.validate(&found)
	c.HTTP.validate(&found)
	c.Fleet.validate(&found)
	return found
}

func (l Log) validate(found *problems) {
	found.enum("log.level", l.Level, "debug", "info", "warn", "error")
	found.enum("log.format", l.Format, "auto", "text", "json")
}

func (ps *problems) enum(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		ps.add(key, value, "%s", oneOf(value, words))
	}
}

func (r Resume) validate(found *problems) {
	found.check(strings.TrimSpace(r.Prompt) != "", "resume.prompt", r.Prompt, "must not be empty: it is what the agent is told")
	for _, d := range []struct {
		key   string
		value time.Duration
		zero  string // what 0s means; "" where it is not allowed
	}{
		{"margin", r.Margin, "none"},
		{"grace", r.Grace, "none"},
		{"max_wait", r.MaxWait, "no bound"},
		{"overdue", r.Overdue, "nobody is asked"},
		{"settle", r.Settle, "none"},
		{"stall", r.Stall, "no bound"},
		{"timeout", r.Timeout, "no bound"},
		{"lookback", r.Lookback, ""},
		{"stagger", r.Stagger, "none"},
	} {
		found.duration("resume."+d.key, d.value, d.zero)
	}
	found.check(r.Grace < day, "resume.grace", r.Grace, "must be less than 24h, or every clock time would mean now")
	found.check(r.MaxConcurrent >= 1, "resume.max_concurrent", r.MaxConcurrent, "must be at least 1; to resume nothing use `resumed pause`")
	found.check(r.MaxWindows >= 1, "resume.max_windows", r.MaxWindows, "must be at least 1")
	found.enum("resume.live", r.Live, LiveType, LiveNotify, LiveIgnore)
	found.enum("resume.unseen", r.Unseen, UnseenNarrow, UnseenSame, UnseenPark)
	found.enum("resume.keep_env", r.KeepEnv, KeepNames, KeepSecrets)
	found.enum("resume.on_cold", r.OnCold, string(resume.ResumeCold), string(resume.TellCold), string(resume.ParkCold))
	found.check(r.MaxColdTokens >= 0, "resume.max_cold_tokens", r.MaxColdTokens, "must not be negative; 0 is no bound")
	found.check(r.WeeklyReserve >= 0 && r.WeeklyReserve < 100, "resume.weekly_reserve", r.WeeklyReserve, "must be a number of percent, 0 (none) to 99")
	found.enum("resume.closed", r.Closed, string(resume.ResumeClosed), string(resume.LeaveClosed))
	found.enum("resume.newcomer", r.Newcomer, string(resume.InteractiveNewcomers), string(resume.AnyNewcomer), string(resume.NoNewcomer))
	found.enum("resume.order", r.Order, OldestFirst, NewestFirst)
	for i, p := range r.Priority {
		key := index("resume.priority", i)
		found.check(p.Dir != "", key+".dir", p.Dir, "must be set")
		found.check(p.Rank >= 1, key+".rank", p.Rank, "must be at least 1, which goes first")
	}
	for i, dir := range r.Include {
		found.check(!slices.Contains(r.Exclude, dir), index("resume.include", i), dir, "is in resume.exclude too: no session there would be resumed")
	}
}

// duration refuses negative durations, and 0s unless it means something.
func (ps *problems) duration(key string, d time.Duration, zero string) {
	if zero == "" {
		ps.check(d > 0, key, d, "must be more than 0s")
	} else {
		ps.check(d >= 0, key, d, "must be 0s (%s) or more", zero)
	}
}

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// name refuses names that cannot stand in an account, a label or a command.
func (ps *problems) name(key, name string) bool {
	if name == "" {
		ps.add(key, nil, "must be set")
		return false
	}
	ok := wellFormed.MatchString(name)
	ps.check(ok, key, name, "must be letters, digits, '.', '_' or '-', at most 64, beginning with a letter or digit")
	return ok
}

func (h History) validate(found *problems) {
	found.duration("history.keep", h.Keep, "")
	found.size("history.max_size", h.MaxSize)
	found.duration("history.ended_keep", h.EndedKeep, "")
	found.size("history.runs_max_size", h.RunsMaxSize)
}

// size refuses sizes that would leave next to nothing.
func (ps *problems) size(key string, s Size) {
	ps.check(s >= 1<<20, key, s, "must be at least 1MiB")
}

func (h HTTP) validate(found *problems) {
	if h.Listen == "" {
		return
	}
	const want = `must be host:port, such as "127.0.0.1:7733", or "" for off`
	_, port, err := net.SplitHostPort(h.Listen)
	if err != nil {
		found.add("http.listen", h.Listen, want)
		return
	}
	n, err := strconv.Atoi(port)
	found.check(err == nil && n >= 0 && n <= 65535, "http.listen", h.Listen, want)
}

var envKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// given is a key, and whether it has a value.
type given struct {
	key string
	set bool
}

// modelNames are those that a program can be given as one argument.
var modelNames = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*(,[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*)*$`)

var placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)
