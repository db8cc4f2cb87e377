package config

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	tmpl "text/template/parse"
	"time"
)

// eventNames returns every event that can be reported.
func eventNames() []string {
	return []string{"gave_up", "parked", "cut_off", "silent", "limited", "retrying", "recovered", "config_error", "state_error", "digest", "usage", "host_gone", "test"}
}

// digestHours returns the span of the day in which a digest is sent. For a single time, the span begins
// and ends then.
func (n Notify) digestHours() (Hours, error) {
	if strings.Contains(n.DigestAt, "-") {
		return parseHours(n.DigestAt)
	}
	at, err := parseClock(n.DigestAt)
	return Hours{From: at % minutesOfDay, To: at % minutesOfDay}, err
}

// LastNight returns when the latest span that a digest covers began, and when it ends or ended.
func (n Notify) LastNight(now time.Time) (begins, ends time.Time) {
	hours, _ := n.digestHours() // Load has checked it
	at := func(day time.Time, minutes int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day(), minutes/60, minutes%60, 0, 0, day.Location())
	}
	if begins = at(now, hours.From); begins.After(now) {
		begins = at(now.AddDate(0, 0, -1), hours.From)
	}
	if ends = at(begins, hours.To); ends.Before(begins) {
		ends = at(begins.AddDate(0, 0, 1), hours.To)
	}
	return begins, ends
}

// channels returns the common part of all channels, by key.
func (n Notify) channels() map[string]Channel {
	all := map[string]Channel{}
	visit(step{}.into("notify"), reflect.ValueOf(n), func(at step, f field, v reflect.Value) {
		if f.kind == kindTable && at.path != "notify" {
			all[at.key] = v.FieldByName("Channel").Interface().(Channel)
		}
	})
	return all
}

func (n Notify) validate(found *problems) {
	found.events("notify.events", n.Events)
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
		key := index("notify.service", i)
		if found.oneOfTwo(key, "url", s.URL != "", s.URLFile != "") && s.URL != "" {
			u, err := url.Parse(s.URL.Reveal())
			found.check(err == nil && u.Scheme != "", key+".url", s.URL, `must be a service URL, such as "ntfy://ntfy.sh/topic"`)
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
}

// oneOfTwo requires a value either in the configuration or in a file of its own.
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

// template checks the syntax of a template. The names in it are checked where it is filled in.
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
