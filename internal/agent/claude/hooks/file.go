package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// knownEvents are the events for which Claude Code calls resumed. A version ignores the whole
// file if it names an unknown event, so each event has the first version that is known to
// support it.
var knownEvents = []struct {
	name  string
	since [3]int
}{
	{"StopFailure", [3]int{2, 1, 78}},
	{"SessionEnd", [3]int{2, 0, 30}},
	{"Notification", [3]int{2, 0, 30}},
}

// arguments follow the program in the hook's command.
const arguments = " hook claude-code"

// seconds is the hook's timeout: resumed takes half a second.
const seconds = 5

var versionIn = regexp.MustCompile(`\b(\d+)\.(\d+)\.(\d+)\b`)

// wantedEvents returns the events that a version supports. An unknown version is assumed to be a
// slightly older one.
func wantedEvents(version string) ([]string, error) {
	is := knownEvents[1].since
	if found := versionIn.FindStringSubmatch(version); found != nil {
		for i := range is {
			is[i], _ = strconv.Atoi(found[i+1])
		}
	}
	var names []string
	for _, event := range knownEvents {
		if slices.Compare(is[:], event.since[:]) >= 0 {
			names = append(names, event.name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("version %s of Claude Code is too old to call hooks: update it", version)
	}
	return names, nil
}

// Add returns settings that call program for the events that this version supports, with every
// other byte unchanged.
func Add(settings []byte, program, version string) ([]byte, error) {
	events, err := wantedEvents(version)
	if err != nil {
		return nil, err
	}
	text := bytes.Clone(settings)
	if len(text) == 0 {
		text = []byte("{}\n")
	}
	command := shellWord(program) + arguments
	if text, err = drop(text, func(event, call string) bool { return call != command || !slices.Contains(events, event) }); err != nil {
		return nil, err
	}
	call, _ := json.Marshal(command) // a string can always be encoded
	group := fmt.Sprintf(`{"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, call, seconds)
	for _, event := range events {
		if text, err = addTo(text, event, command, group); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// addTo adds a group to an event, unless one of its groups calls the command already.
func addTo(text []byte, event, command, group string) ([]byte, error) {
	root, hooks, err := hooksIn(text)
	switch {
	case err != nil:
		return nil, err
	case hooks == nil:
		text = root.insert(text, `"hooks": {}`)
		if _, hooks, err = hooksIn(text); err != nil {
			return nil, err
		}
	}
	groups := hooks.member(event)
	switch {
	case groups == nil:
		return hooks.insert(text, strconv.Quote(event)+": ["+group+"]"), nil
	case groups.kind != '[':
		return nil, fmt.Errorf("hooks.%s in it is not a list", event)
	}
	for _, c := range callsIn(text, hooks) {
		if c.event == event && c.command == command {
			return text, nil
		}
	}
	return groups.insert(text, group), nil
}

// Remove returns settings without any call of resumed.
func Remove(settings []byte) ([]byte, error) {
	return drop(bytes.Clone(settings), func(string, string) bool { return true })
}

// drop removes unwanted calls of resumed, and lists and objects that become empty.
func drop(text []byte, unwanted func(event, command string) bool) ([]byte, error) {
	for {
		root, hooks, err := hooksIn(text)
		if err != nil || hooks == nil {
			return text, err
		}
		calls := callsIn(text, hooks)
		i := slices.IndexFunc(calls, func(c ourCall) bool { return unwanted(c.event, c.command) })
		if i < 0 {
			return text, nil
		}
		path := append([]step{{root, slices.Index(root.values, hooks)}}, calls[i].path...)
		last := len(path) - 1
		for last > 0 && len(path[last].in.values) == 1 {
			last--
		}
		text = path[last].in.remove(text, path[last].at)
	}
}

// step is one step of the path to a value: an index in a list or an object.
type step struct {
	in *node
	at int
}

// ourCall is a call of resumed in the settings, and its path from the hooks.
type ourCall struct {
	event, command string
	path           []step
}

// callsIn returns the calls of resumed, at any path.
func callsIn(text []byte, hooks *node) []ourCall {
	var calls []ourCall
	for e, groups := range hooks.values {
		for g, group := range groups.values {
			entries := group.member("hooks")
			if entries == nil {
				continue
			}
			for i, entry := range entries.values {
				command := entry.member("command")
				var call string
				if command == nil || json.Unmarshal(text[command.start:command.end], &call) != nil || programOf(call) == "" {
					continue
				}
				// A group is removed with its last call: its other fields only say when to call.
				calls = append(calls, ourCall{hooks.keys[e], call, []step{{hooks, e}, {groups, g}, {entries, i}}})
			}
		}
	}
	return calls
}

// hooksIn parses the settings, and returns their hooks; nil: there are none.
func hooksIn(text []byte) (root, hooks *node, err error) {
	if root, err = parseText(text); err != nil {
		return nil, nil, err
	}
	if root.kind != '{' {
		return nil, nil, errors.New("it is not a JSON object")
	}
	if hooks = root.member("hooks"); hooks != nil && hooks.kind != '{' {
		return nil, nil, errors.New("hooks in it is not a JSON object")
	}
	return root, hooks, nil
}

// Calls returns the path of the resumed that settings call; "": none.
func Calls(settings []byte) string {
	_, hooks, err := hooksIn(settings)
	if err != nil || hooks == nil {
		return ""
	}
	for _, c := range callsIn(settings, hooks) {
		return programOf(c.command)
	}
	return ""
}

// programOf returns the path of the resumed that a hook's command calls; "": another command.
func programOf(command string) string {
	word, ours := strings.CutSuffix(command, arguments)
	if unquoted, is := strings.CutPrefix(word, "'"); is {
		word = strings.ReplaceAll(strings.TrimSuffix(unquoted, "'"), `'\''`, "'")
	}
	if !ours || filepath.Base(word) != "resumed" {
		return ""
	}
	return word
}

var plainWord = regexp.MustCompile(`^[0-9A-Za-z_./@%+-]+$`)

// shellWord quotes a word for a shell.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
