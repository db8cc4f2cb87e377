package config

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	tmpl "text/template/parse"
)

func (n Notify) validate(found *problems) {
	found.events("notify.events", n.Events)
	found.duration("notify.group_wait", n.GroupWait, "none")
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
		found.absoluteFile(key+".url_file", s.URLFile)
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
	found.absoluteFile(key+".url_file", w.URLFile)
	found.absoluteFile(key+".secret_file", w.SecretFile)
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

func (ps *problems) absoluteFile(key, path string) {
	ps.check(path == "" || filepath.IsAbs(path), key, path, "must be an absolute path")
}

func (ps *problems) events(key string, events []string) {
	for i, e := range events {
		if !slices.Contains(Events(), e) {
			ps.add(index(key, i), e, "%s", oneOf(e, Events()))
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
