package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	tmpl "text/template/parse"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
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
			if e, ok := errors.AsType[*backoff.FieldError](err); ok {
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

func (c Config) validateAgents(found *problems, known Known) {
	builtin := known.names(func(Builtin) bool { return true })

	names := map[string]int{}
	for i, a := range c.Agents {
		key := index("agent", i)
		if found.name(key+".name", a.Name) {
			first, taken := names[a.Name]
			found.check(!taken, key+".name", a.Name, "must be unique: agent[%d] has it too", first)
			names[a.Name] = i
		}
		if a.Policy != "" {
			_, ok := c.NamedPolicy(a.Policy)
			found.check(ok, key+".policy", a.Policy, "%s", oneOf(a.Policy, c.PolicyNames()))
		}
		found.environment(key+".env", a.Env)
		if a.Account != "" {
			found.name(key+".account", a.Account)
		}
		if slices.Contains(builtin, a.Name) {
			a.validateBuiltin(found, key, known)
		} else {
			a.validateCustom(found, key, builtin)
		}
	}
}

var envKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment checks KEY=value entries. Values are secrets: they are not shown.
func (ps *problems) environment(key string, env []string) {
	for i, kv := range env {
		name, _, found := strings.Cut(kv, "=")
		ok := found && envKey.MatchString(name) && !strings.ContainsRune(kv, 0)
		ps.check(ok, index(key, i), nil, `must be "KEY=value", the key of letters, digits and '_'`)
	}
}

// given is a key, and whether it has a value.
type given struct {
	key string
	set bool
}

// unused refuses keys that would have no effect where they stand.
func (ps *problems) unused(table, want string, keys []given) {
	for _, k := range keys {
		ps.check(!k.set, table+"."+k.key, nil, "%s", want)
	}
}

func (a Agent) validateBuiltin(found *problems, key string, known Known) {
	found.check(a.Kind == "", key+".kind", a.Kind, "must not be set: %s is built in; for an agent of your own choose another name", a.Name)
	found.unused(key, "is for custom agents only: "+a.Name+" is built in", []given{
		{"files", a.Files != nil},
		{"session", a.Session != ""},
		{"cwd", a.Cwd != ""},
		{"about", a.About != ""},
		{"program", a.Program != nil},
		{"limit", a.Limit != nil},
		{"progress", a.Progress != nil},
		{"resume", a.Resume != nil},
		{"start", a.Start != nil},
	})
	if servers := known.names(func(b Builtin) bool { return b.Server }); a.Server != "" {
		found.check(slices.Contains(servers, a.Name), key+".server", a.Server, "is for %s only", strings.Join(servers, ", "))
		found.check(isWebURL(a.Server), key+".server", a.Server, "must be an http or https URL")
	}
	if models := known.names(func(b Builtin) bool { return b.Models }); a.FallbackModel != "" {
		found.check(slices.Contains(models, a.Name), key+".fallback_model", a.FallbackModel,
			"is for %s only: no other program has such a flag", strings.Join(models, ", "))
		found.check(modelNames.MatchString(a.FallbackModel), key+".fallback_model", a.FallbackModel,
			`must be the name of a model, such as "sonnet", or several with commas between them`)
	}
}

// modelNames are those that a program can be given as one argument.
var modelNames = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*(,[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*)*$`)

func (a Agent) validateCustom(found *problems, key string, builtin []string) {
	if a.Kind != KindCustom {
		want := fmt.Sprintf(`must be "custom" for an agent that is not built in (%s)`, strings.Join(builtin, ", "))
		if near := nearest(a.Name, builtin); near != "" && a.Kind == "" {
			want += fmt.Sprintf("; did you mean the name %s?", near)
		}
		var value any
		if a.Kind != "" {
			value = a.Kind
		}
		found.add(key+".kind", value, "%s", want)
		if a.Kind == "" {
			return // what else it lacks follows from that
		}
	}
	found.unused(key, "is for built-in agents only", []given{
		{"roots", a.Roots != nil},
		{"command", a.Command != ""},
		{"server", a.Server != ""},
		{"fallback_model", a.FallbackModel != ""},
	})
	found.check(a.Files != nil, key+".files", nil, "must name the files that the agent writes")
	for i, pattern := range a.Files {
		_, err := filepath.Match(pattern, "")
		found.check(err == nil, index(key+".files", i), pattern, `must be a path or a pattern of *, ? and […], such as "~/logs/*.log"`)
		found.check(!strings.Contains(pattern, "**"), index(key+".files", i), pattern,
			"has **, which is not known here; name every level, such as \"~/logs/*.log\" and \"~/logs/*/*.log\"")
	}
	if a.About != "" {
		_, err := filepath.Match(a.About, "")
		found.check(err == nil && strings.Contains(a.About, "{session}"), key+".about", a.About,
			`must be the path of a session's file, such as "~/sessions/*/{session}.jsonl"`)
	}
	for i, word := range a.Program {
		found.check(word != "" && !strings.ContainsAny(word, "/ "), index(key+".program", i), word,
			`must be the name of a program, or a word of its command line, such as "mybot"`)
	}
	a.validatePatterns(found, key)
	a.validateResume(found, key)
	a.validateStart(found, key)
}

func (a Agent) validatePatterns(found *problems, key string) {
	if a.Session == "" {
		found.add(key+".session", nil, "must be a regexp with a group that is the session's id")
	} else if re := found.pattern(key+".session", a.Session, "session", "cwd"); re != nil {
		found.check(re.NumSubexp() > 0, key+".session", a.Session, "must have a group that is the session's id, such as '([^/]+)\\.log$'")
		onlyCwd := re.NumSubexp() == 1 && re.SubexpIndex("cwd") > 0
		found.check(!onlyCwd, key+".session", a.Session, "must have a group that is the session's id, beside the group cwd")
	}
	found.check(a.Limit != nil, key+".limit", nil, "must have a regexp for the lines that say the agent is limited")
	for i, pattern := range a.Limit {
		at := index(key+".limit", i)
		if re := found.pattern(at, pattern, groups()...); re != nil {
			both := re.SubexpIndex("after") > 0 && re.SubexpIndex("at") > 0
			found.check(!both, at, pattern, "must have the group after or the group at, not both")
		}
	}
	for i, pattern := range a.Progress {
		found.pattern(index(key+".progress", i), pattern, groups()...)
	}
}

// groups returns the groups that mean something in a custom agent's regexps.
func groups() []string {
	all := []string{"session", "cwd", "after", "at", "class", "time", "zone", "text"}
	for _, class := range limit.Classes() {
		all = append(all, class.String())
	}
	return all
}

// pattern compiles a regexp and refuses groups that mean nothing there. It
// returns nil for one that does not compile.
func (ps *problems) pattern(key, pattern string, allowed ...string) *regexp.Regexp {
	if pattern == "" {
		ps.add(key, pattern, "must not be empty: it would match every line")
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		ps.add(key, pattern, "must be a regexp: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	for _, name := range re.SubexpNames() {
		if name != "" && !slices.Contains(allowed, name) {
			ps.add(key, pattern, "has the group %s; groups here are %s", name, strings.Join(allowed, ", "))
		}
	}
	return re
}

// placeholders returns what stands for a session's own values in a command.
func placeholders() []string { return []string{"{session}", "{prompt}", "{cwd}"} }

var placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)

func (a Agent) validateResume(found *problems, key string) {
	key += ".resume"
	if len(a.Resume) == 0 {
		found.add(key, nil, `must be the command that continues a session, such as ["mybot", "--resume", "{session}"]`)
		return
	}
	found.command(key, a.Resume)
}

// validateStart checks the command that begins a session. Without the id in it nobody
// would know which session it began.
func (a Agent) validateStart(found *problems, key string) {
	if a.Start == nil {
		return
	}
	key += ".start"
	found.command(key, a.Start)
	for _, needed := range []string{"{session}", "{prompt}"} {
		has := slices.ContainsFunc(a.Start, func(arg string) bool { return strings.Contains(arg, needed) })
		found.check(has, key, nil, `must have the placeholder %s, as in ["mybot", "--session", "{session}", "{prompt}"]`, needed)
	}
}

// command checks a command with placeholders.
func (ps *problems) command(key string, argv []string) {
	for i, arg := range argv {
		at := index(key, i)
		if i == 0 {
			ps.check(strings.TrimSpace(arg) != "", at, arg, "must be a program")
			ps.check(!placeholder.MatchString(arg), at, arg, "must be a fixed program, without a placeholder")
			continue
		}
		ps.check(!strings.ContainsRune(arg, 0), at, arg, "must not contain a NUL")
		for _, p := range placeholder.FindAllString(arg, -1) {
			if !slices.Contains(placeholders(), p) {
				ps.add(at, arg, "has the placeholder %s; there are %s", p, strings.Join(placeholders(), ", "))
			}
		}
	}
}

func (n Notify) validate(found *problems) {
	found.events("notify.events", n.Events)
	found.duration("notify.group_wait", n.GroupWait, "none")
	_, err := n.digestHours()
	found.check(err == nil, "notify.digest_at", n.DigestAt, `must be a time of day, such as "07:30", or a night, such as "22:00-08:00"`)
	names := map[string]string{}
	channels := n.channels()
	for _, key := range slices.Sorted(maps.Keys(channels)) {
		c := channels[key]
		if found.name(key+".name", c.Name) {
			first, taken := names[c.Name]
			found.check(!taken, key+".name", c.Name, "must be unique: %s has it too", first)
			names[c.Name] = key
		}
		// Events that were inherited are reported where they stand.
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
		key := index("notify.service", i)
		if found.oneOfTwo(key, "url", s.URL != "", s.URLFile != "") && s.URL != "" {
			u, err := url.Parse(s.URL.Reveal())
			found.check(err == nil && u.Scheme != "", key+".url", s.URL, `must be a shoutrrr URL, such as "ntfy://ntfy.sh/topic"`)
		}
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
	if found.oneOfTwo(key, "url", w.URL != "", w.URLFile != "") && w.URL != "" {
		found.check(isWebURL(w.URL.Reveal()), key+".url", w.URL, "must be an http or https URL")
	}
	found.check(w.Secret == "" || w.SecretFile == "", key+".secret_file", w.SecretFile, "must not be set beside secret")
	found.duration(key+".timeout", w.Timeout, "")
}

// oneOfTwo wants a value either in the file or in a file of its own.
func (ps *problems) oneOfTwo(key, name string, given, inFile bool) bool {
	switch {
	case given && inFile:
		ps.add(key+"."+name+"_file", nil, "must not be set beside %s", name)
	case !given && !inFile:
		ps.add(key+"."+name, nil, "must be set, here or by %s_file", name)
	default:
		return true
	}
	return false
}

func (ps *problems) events(key string, events []string) {
	for i, e := range events {
		if !slices.Contains(eventNames(), e) {
			ps.add(index(key, i), e, "%s", oneOf(e, eventNames()))
		}
	}
}

// template checks how a template is written. Which names it may use is known to
// the one that fills it in.
func (ps *problems) template(key, text string) {
	tree := tmpl.New("title")
	tree.Mode = tmpl.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", map[string]*tmpl.Tree{}); err != nil {
		ps.add(key, text, "must be a text/template: %s", strings.TrimPrefix(err.Error(), "template: title:"))
	}
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
