package config

import (
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
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
	found.enum("resume.order", r.Order, OldestFirst, NewestFirst)
	found.absolute("resume.include", r.Include)
	found.absolute("resume.exclude", r.Exclude)
	for i, dir := range r.Include {
		found.check(!slices.Contains(r.Exclude, dir), index("resume.include", i), dir, "is in resume.exclude too: no session there would be resumed")
	}
}

// duration refuses negative durations, and 0s unless it means something.
func (ps *problems) duration(key string, d time.Duration, zero string) {
	switch {
	case zero == "":
		ps.check(d > 0, key, d, "must be more than 0s")
	default:
		ps.check(d >= 0, key, d, "must be 0s (%s) or more", zero)
	}
}

// absolute guards configurations that did not come through Load.
func (ps *problems) absolute(key string, paths []string) {
	for i, p := range paths {
		ps.check(filepath.IsAbs(p), index(key, i), p, "must be an absolute path")
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

func (b Backoff) validate(found *problems) {
	found.policy("backoff", b.Policy, nil)
	names, classes := map[string]int{}, map[limit.Class]string{}
	inherited := fieldErrors(b.Policy)
	for i, p := range b.Policies {
		key := index("backoff.policy", i)
		found.policy(key, p.Policy, inherited)
		if found.name(key+".name", p.Name) {
			found.check(p.Name != defaultPolicy, key+".name", p.Name, `must be another name: "default" is [backoff] itself`)
			first, taken := names[p.Name]
			found.check(!taken, key+".name", p.Name, "must be unique: backoff.policy[%d] has it too", first)
			names[p.Name] = i
		}
		for j, class := range p.Classes {
			at := index(key+".classes", j)
			found.check(class != limit.None && class != limit.Cancelled, at, class, "is never retried, so no policy can apply to it")
			other, taken := classes[class]
			found.check(!taken, at, class, "must be in one policy only: %q has it too", other)
			classes[class] = p.Name
		}
	}
}

// policy adds what is wrong with a policy. What it inherited is reported where
// it stands, not once more.
func (ps *problems) policy(key string, p backoff.Policy, inherited map[string]*backoff.FieldError) {
	errs, values := fieldErrors(p), map[string]any{}
	for key, f := range fieldsOf(reflect.TypeFor[backoff.Policy]()) {
		values[key] = scalar(reflect.ValueOf(p).FieldByIndex(f.Index))
	}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		e := errs[name]
		if was, ok := inherited[name]; ok && *was == *e {
			continue
		}
		ps.add(key+"."+e.Field, values[e.Field], "%s", e.Want)
	}
}

func fieldErrors(p backoff.Policy) map[string]*backoff.FieldError {
	found := map[string]*backoff.FieldError{}
	if joined, ok := p.Validate().(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := err.(*backoff.FieldError); ok {
				found[e.Field] = e
			}
		}
	}
	return found
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
