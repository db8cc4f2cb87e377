package remote

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Options are the options in the query of a service URL. Names are not case-sensitive; a name that no
// service asks for is an error.
type Options struct {
	given map[string]string
	asked []string
	err   error
}

// OptionsOf reads the options of a URL.
func OptionsOf(u *url.URL) *Options {
	o := &Options{given: make(map[string]string)}
	query, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, ";", "%3b")) // ntfy's buttons contain semicolons
	if err != nil {
		o.err = errors.New("its options cannot be read")
	}
	for name, values := range query {
		o.given[strings.ToLower(name)] = values[0]
	}
	return o
}

// Text returns an option that has one or several names; "" if it is not given.
func (o *Options) Text(names ...string) string {
	o.asked = append(o.asked, names...)
	for _, name := range names {
		if value, given := o.given[name]; given {
			return value
		}
	}
	return ""
}

// Flag returns an option that is yes or no.
func (o *Options) Flag(usual bool, names ...string) bool {
	switch strings.ToLower(o.Text(names...)) {
	case "":
		return usual
	case "yes", "y", "true", "on", "1":
		return true
	case "no", "n", "false", "off", "0":
		return false
	default:
		o.Wrong(names[0], "must be yes or no")
		return usual
	}
}

// Choice returns an option that must be one of some words, in lower case; "" if it is not given.
func (o *Options) Choice(name string, words ...string) string {
	value := strings.ToLower(o.Text(name))
	if value != "" && !slices.Contains(words, value) {
		o.Wrong(name, "must be one of "+strings.Join(words, ", "))
	}
	return value
}

// Wrong records what is wrong with an option. The first one counts.
func (o *Options) Wrong(name, why string) {
	if o.err == nil {
		o.err = fmt.Errorf("its option %s %s", name, why)
	}
}

// Err returns what is wrong with the options. Call it last: options that were not asked for until then
// are unknown.
func (o *Options) Err() error {
	for name := range o.given {
		if !slices.Contains(o.asked, name) {
			slices.Sort(o.asked)
			o.Wrong(fmt.Sprintf("%q", name), "does not exist; there are "+strings.Join(o.asked, ", "))
		}
	}
	return o.err
}
