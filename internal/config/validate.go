package config

import (
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/limit"
	"resumed/internal/prompt"
)

// validate returns all wrong values and combinations.
func (c Config) validate(known Known) []*Problem {
	var found problems
	visit(step{}, reflect.ValueOf(c), func(at step, f field, v reflect.Value) { found.tags(at.key, f, v) })
	c.Resume.validate(&found)
	c.Backoff.validate(&found)
	c.validateAgents(&found, known)
	c.Notify.validate(&found)
	c.HTTP.validate(&found)
	c.Fleet.validate(&found)
	return found
}

// tags checks a value against the tags of Config. A policy checks its durations itself.
func (ps *problems) tags(key string, f field, v reflect.Value) {
	words, zero, within := strings.Fields(f.tag.Get("oneof")), f.tag.Get("zero"), f.tag.Get("within")
	switch value := v.Interface().(type) {
	case string:
		if len(words) > 0 && !slices.Contains(words, value) {
			ps.add(key, value, "%s", oneOf(value, words))
		}
	case time.Duration:
		switch {
		case strings.HasPrefix(key, "backoff."):
		case within != "":
			least, most, _ := strings.Cut(within, " ")
			from, _ := ParseDuration(least)
			to, _ := ParseDuration(most)
			ps.check(value >= from && value <= to, key, value, "must be %s to %s", least, most)
		case zero != "":
			ps.check(value >= 0, key, value, "must be 0s (%s) or more", zero)
		default:
			ps.check(value > 0, key, value, "must be more than 0s")
		}
	case Size:
		ps.check(value >= 1<<20, key, value, "must be at least 1MiB") // less would leave almost nothing
	}
}

func (r Resume) validate(found *problems) {
	found.prompt("resume.prompt", r.Prompt)
	r.validatePrompts(found)
	found.check(r.Grace < day, "resume.grace", r.Grace, "must be less than 24h, or every clock time would mean now")
	found.check(r.MaxConcurrent >= 1, "resume.max_concurrent", r.MaxConcurrent, "must be at least 1; to resume nothing use `resumed pause`")
	found.check(r.MaxWindows >= 1, "resume.max_windows", r.MaxWindows, "must be at least 1")
	found.check(r.MaxColdTokens >= 0, "resume.max_cold_tokens", r.MaxColdTokens, "must not be negative; 0 is no bound")
	found.check(r.WeeklyReserve >= 0 && r.WeeklyReserve < 100, "resume.weekly_reserve", r.WeeklyReserve, "must be a number of percent, 0 (none) to 99")
	for i, p := range r.Priority {
		key := index("resume.priority", i)
		found.check(p.Dir != "", key+".dir", p.Dir, "must be set")
		found.check(p.Rank >= 1, key+".rank", p.Rank, "must be at least 1, which goes first")
	}
	for i, dir := range r.Include {
		found.check(!slices.Contains(r.Exclude, dir), index("resume.include", i), dir, "is in resume.exclude too: no session there would be resumed")
	}
}

func (r Resume) validatePrompts(found *problems) {
	taken := map[limit.Class]int{}
	for i, p := range r.PromptFor {
		key := index("resume.prompt_for", i)
		found.prompt(key+".prompt", p.Prompt)
		found.check(len(p.Classes) > 0, key+".classes", nil, "must name at least one class")
		for j, class := range p.Classes {
			at := index(key+".classes", j)
			found.check(class != limit.None && class != limit.Cancelled, at, class, "is never resumed, so no prompt can apply to it")
			first, twice := taken[class]
			found.check(!twice, at, class, "must have one prompt only: resume.prompt_for[%d] has it too", first)
			taken[class] = i
		}
	}
}

// prompt checks what an agent is told.
func (ps *problems) prompt(key, text string) {
	ps.check(strings.TrimSpace(text) != "", key, text, "must not be empty: it is what the agent is told")
	if unknown := prompt.Unknown(text); unknown != "" {
		ps.add(key, text, "has the unknown placeholder %s; placeholders here are %s", unknown, strings.Join(prompt.Placeholders(), ", "))
	}
}

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// name refuses names that cannot be part of an account, a label or a command.
func (ps *problems) name(key, name string) bool {
	if name == "" {
		ps.add(key, nil, "must be set")
		return false
	}
	ok := wellFormed.MatchString(name)
	ps.check(ok, key, name, "must be letters, digits, '.', '_' or '-', at most 64, beginning with a letter or digit")
	return ok
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

func (f Fleet) validate(found *problems) {
	if f.Name != "" {
		found.check(isHostName(f.Name), "fleet.name", f.Name, "must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit")
	}
	if f.URL == "" {
		for key, value := range map[string]string{"credentials_file": f.CredentialsFile, "ca_file": f.CAFile, "name": f.Name} {
			found.check(value == "", "fleet."+key, nil, "has no effect without url")
		}
		return
	}
	for address := range strings.SplitSeq(f.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		ok := err == nil && u.Host != "" && u.User == nil && (u.Scheme == "tls" || u.Scheme == "nats")
		found.check(ok, "fleet.url", f.URL, `must be "tls://host:port", or several of them with commas between; who you are is said by credentials_file`)
		if ok && u.Scheme == "nats" && !loopback(u.Host) {
			found.add("fleet.url", f.URL, "must begin with tls:// where it leads to another machine")
		}
	}
	found.check(f.CredentialsFile != "", "fleet.credentials_file", nil, "must be set: `resumed fleet join` writes it")
}

// isHostName reports whether a name can be a part of a fleet key: a dot would make two parts, and a
// slash separates it from a session.
func isHostName(name string) bool {
	return wellFormed.MatchString(name) && !strings.Contains(name, ".")
}

var envKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// modelNames matches model names that can be passed as one argument.
var modelNames = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*(,[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*)*$`)

var placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)
