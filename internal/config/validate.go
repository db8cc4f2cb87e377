package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	tmpl "text/template/parse"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/prompt"
	"resumed/internal/resume"
)

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

func (ps *problems) prompt(key, text string) {
	ps.check(strings.TrimSpace(text) != "", key, text, "must not be empty: it is what the agent is told")
	if unknown := prompt.Unknown(text); unknown != "" {
		ps.add(key, text, "has the unknown placeholder %s; placeholders here are %s", unknown, strings.Join(prompt.Placeholders(), ", "))
	}
}

func (h HTTP) validate(found *problems) {
	_, port, err := net.SplitHostPort(h.Listen)
	_, badPort := strconv.ParseUint(port, 10, 16)
	found.check(h.Listen == "" || err == nil && badPort == nil, "http.listen", h.Listen, `must be host:port, such as "127.0.0.1:7733", or "" for off`)
}

func (f Fleet) validate(found *problems) {
	if f.Name != "" { // in a fleet key a dot would make two parts, and a slash separates it from a session
		ok := wellFormed(f.Name) && !strings.Contains(f.Name, ".")
		found.check(ok, "fleet.name", f.Name, "must be letters, digits, '_' or '-', at most 64, beginning with a letter or digit")
	}
	if f.URL == "" {
		for key, value := range map[string]string{"credentials_file": f.CredentialsFile, "ca_file": f.CAFile, "name": f.Name} {
			found.check(value == "", "fleet."+key, nil, "has no effect without url")
			found.follow("fleet."+key, "fleet.url")
		}
		return
	}
	for address := range strings.SplitSeq(f.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		ok := err == nil && u.Host != "" && u.User == nil && (u.Scheme == "tls" || u.Scheme == "nats")
		found.check(ok, "fleet.url", f.URL, `must be "tls://host:port", or several of them with commas between; credentials_file identifies this host`)
		if ok && u.Scheme == "nats" && !loopback(u.Host) {
			found.add("fleet.url", f.URL, "must begin with tls:// where it leads to another machine")
		}
	}
	found.check(f.CredentialsFile != "", "fleet.credentials_file", nil, "must be set: `resumed fleet join` writes it")
}

// eventNames returns every event that can be reported.
func eventNames() []string {
	return []string{"gave_up", "parked", "cut_off", "silent", "limited", "retrying", "recovered", "config_error", "state_error", "digest", "usage", "host_gone", "test"}
}

func (n Notify) validate(found *problems) {
	found.events("notify.events", n.Events)
	_, err := n.digestHours()
	found.check(err == nil, "notify.digest_at", n.DigestAt, `must be a time of day, such as "07:30", or a night, such as "22:00-08:00"`)
	names := map[string]string{}
	channels := n.channels()
	for _, key := range slices.Sorted(maps.Keys(channels)) {
		c := channels[key]
		found.uniqueName(key, c.Name, names)
		// Inherited events are reported at [notify].
		if !slices.Equal(c.Events, n.Events) {
			found.events(key+".events", c.Events)
		}
		found.template(key+".title", c.Title)
		found.template(key+".text", c.Text)
	}
	for i, w := range n.Webhook {
		w.validate(found, index("notify.webhook", i))
	}
	for i, s := range n.Service {
		found.urlOrFile(index("notify.service", i), s.URL != "", s.URLFile != "")
	}
	for i, c := range n.Command {
		key := index("notify.command", i) + ".run"
		if len(c.Run) == 0 {
			found.add(key, nil, "must be a command")
			continue
		}
		found.check(strings.TrimSpace(c.Run[0]) != "", index(key, 0), c.Run[0], "must be a program")
	}
}

func (w Webhook) validate(found *problems, key string) {
	found.urlOrFile(key, w.URL != "", w.URLFile != "")
	found.check(w.Secret == "" || w.SecretFile == "", key+".secret_file", w.SecretFile, "must not be set beside secret")
}

// urlOrFile requires a URL either in the configuration or in a file of its own. What is in it is checked
// where the channel is built, so that all wrong URLs are reported together.
func (ps *problems) urlOrFile(key string, given, inFile bool) {
	switch {
	case given && inFile:
		ps.add(key+".url_file", nil, "must not be set beside url")
	case !given && !inFile:
		ps.add(key+".url", nil, "must be set, here or by url_file")
		ps.follow(key+".url", key+".url_file")
	}
}

func (ps *problems) events(key string, events []string) {
	for i, e := range events {
		if !slices.Contains(eventNames(), e) {
			ps.add(index(key, i), e, "%s", oneOf(e, eventNames()))
		}
	}
}

// template checks the syntax of a template. The names in it are checked where it is filled in.
func (ps *problems) template(key, text string) {
	tree := tmpl.New("title")
	tree.Mode = tmpl.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", map[string]*tmpl.Tree{}); err != nil {
		ps.add(key, text, "must be a text/template: %s", strings.TrimPrefix(err.Error(), "template: title:"))
	}
}

func (b Backoff) validate(found *problems) {
	found.policy("backoff", b.Policy, nil)
	names, classes := map[string]string{}, map[limit.Class]string{}
	inherited := b.Policy.Validate()
	for i, p := range b.Policies {
		key := index("backoff.policy", i)
		found.policy(key, p.Policy, inherited)
		found.check(p.Name != resume.DefaultPolicy, key+".name", p.Name, `must be another name: "default" is [backoff] itself`)
		found.uniqueName(key, p.Name, names)
		for j, class := range p.Classes {
			at := index(key+".classes", j)
			found.check(class != limit.None && class != limit.Cancelled, at, class, "is never retried, so no policy can apply to it")
			other, taken := classes[class]
			found.check(!taken, at, class, "must be in one policy only: %q has it too", other)
			classes[class] = p.Name
		}
	}
}

// policy adds the problems of a policy. Problems of inherited values are reported at [backoff] only.
func (ps *problems) policy(key string, p backoff.Policy, inherited []backoff.InvalidField) {
	for _, bad := range p.Validate() {
		if slices.ContainsFunc(inherited, func(was backoff.InvalidField) bool { return fmt.Sprint(was) == fmt.Sprint(bad) }) {
			continue // compared as text, because NaN does not equal itself
		}
		switch bad.Field {
		case "strategy":
			bad.Want = oneOf(string(p.Strategy), Texts(backoff.Strategies()))
		case "jitter_mode":
			bad.Want = oneOf(string(p.JitterMode), Texts(backoff.JitterModes()))
		}
		ps.add(key+"."+bad.Field, bad.Value, "%s", bad.Want)
		if by := backoff.BoundBy(bad.Field); by != "" {
			ps.follow(key+"."+bad.Field, key+"."+by, "backoff."+by) // a policy inherits it
		}
	}
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
