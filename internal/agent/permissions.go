package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"resumed/internal/lazy"
	"resumed/internal/resume"
)

// SettingsFiles describes the files of an agent that say what a session may do without asking.
type SettingsFiles struct {
	// Paths returns those that a process reads, the most important ones last. A path that begins with { is a
	// document itself.
	Paths func(o resume.Origin, variable func(name string) string) []string

	// Read returns the permission mode that the content of a file sets ("": none), and the parts that allow
	// or forbid something. These are compared.
	Read func(path string, text []byte) (mode string, rules any)

	// Modes are ordered by what they allow without asking, least first. Asking are those that ask before harm is done.
	Modes, Asking []string

	// Usual is the mode where no settings say another, and All are the flags for the last mode. They are for described
	// agents.
	Usual string
	All   []string
}

// modeSetting matches the permission mode in settings of Gemini CLI and its forks, which may have comments.
var modeSetting = lazy.Regexp(`"(?:defaultApprovalMode|approvalMode)"\s*:\s*"([^"]*)"`)

// byUser is the file in which Gemini CLI stores what its user always allows.
const byUser = "auto-saved.toml"

// ApprovalSettings describes the settings of Gemini CLI and its forks: they are in a home, in the directory of a session, and
// in one of the machine. policies are patterns of further files in the first two.
func ApprovalSettings(homeName, machine string, home func(variable func(string) string) string, policies []string, rules ...string) SettingsFiles {
	return SettingsFiles{
		Paths: func(o resume.Origin, variable func(string) string) []string {
			paths := []string{filepath.Join(machine, "system-defaults.json")}
			for _, dir := range []string{home(variable), filepath.Join(o.Cwd, homeName)} {
				paths = append(paths, filepath.Join(dir, "settings.json"))
				for _, pattern := range policies {
					found, _ := filepath.Glob(filepath.Join(dir, pattern)) // errs on a bad pattern only
					paths = append(paths, slices.DeleteFunc(found, func(path string) bool { return filepath.Base(path) == byUser })...)
				}
			}
			return append(paths, filepath.Join(machine, "settings.json"))
		},
		Read: func(path string, text []byte) (mode string, parts any) {
			if filepath.Ext(path) != ".json" {
				return "", string(text)
			}
			if found := modeSetting().FindSubmatch(text); found != nil {
				mode = string(found[1])
			}
			return mode, PartsOf(text, rules...)
		},
	}
}

// coarse is more than the clocks of files and processes differ by, and than a script that writes a file and becomes the
// agent takes for that. An agent that has only just started has done nothing yet.
const coarse = 500 * time.Millisecond

// SettingsAt returns what the settings files of a process say: a mode counts only if its file is older than the process. Rules
// are as they are now, because some agents write to their settings when they start. nil: the agent has none that matter.
func (b *Base) SettingsAt(o resume.Origin) *resume.Settings {
	about, said := b.about.Settings, resume.Settings{Files: make(map[string]string)}
	if about == nil {
		return nil
	}
	for _, path := range about.Paths(o, ofOrigin(o)) {
		if strings.HasPrefix(path, "{") {
			if mode, _ := about.Read(path, []byte(path)); mode != "" {
				said.Mode = mode
			}
			continue
		}
		there := path
		if o.Sandbox != "" { // its files may be others
			there = fmt.Sprintf("/proc/%d/root%s", o.Process.PID, path)
		}
		text, err := ReadSettings(there)
		if err != nil {
			continue // one that cannot be read allows nothing
		}
		mode, rules := about.Read(path, text)
		later := !o.BeganAt.IsZero() && changedAt(there).After(o.BeganAt.Add(coarse))
		if mode != "" && !later {
			said.Mode = mode
		}
		if hash := hashOf(rules); hash != "" {
			said.Files[path] = hash
		}
	}
	return &said
}

// ofOrigin returns the variables of a process that are stored with their values.
func ofOrigin(o resume.Origin) func(name string) string {
	return func(name string) string {
		for _, v := range o.Env {
			if v.Name == name {
				return v.Value
			}
		}
		if !o.EnvSeen {
			return os.Getenv(name)
		}
		return ""
	}
}

// changedAt returns when a file was written, renamed or linked there: no program can choose that time.
func changedAt(path string) time.Time {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return time.Time{}
	}
	return time.Unix(stat.Ctim.Unix())
}

func hashOf(rules any) string {
	text, _ := json.Marshal(rules) // parts of documents always encode
	if string(text) == "null" || string(text) == "{}" {
		return ""
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:16])
}

// PartsOf returns the values of some keys of a JSON document, and of keys of objects in it ("tools.allowed"). A
// document that cannot be parsed counts as a whole.
func PartsOf(text []byte, keys ...string) any {
	var document map[string]any
	if json.Unmarshal(text, &document) != nil {
		return string(text)
	}
	parts := make(map[string]any)
	for _, key := range keys {
		var value any = document
		for name := range strings.SplitSeq(key, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if value != nil {
			parts[key] = value
		}
	}
	return parts
}

// settingsNow returns what the settings files of a session's agent say now.
func (b *Base) settingsNow(s resume.Session, dir string) *resume.Settings {
	o := resume.Origin{Cwd: dir}
	if had := s.StartedWith(); had != nil {
		o = *had
		o.BeganAt = time.Time{}
	}
	if o.Sandbox != "" {
		return nil // its process has ended, and with it the way to its files
	}
	return b.SettingsAt(o)
}

// StartMode returns the mode that the settings gave the session at its start; "": none, or its start is not known and they
// say nothing now. What they say now counts only if it is less.
func (b *Base) StartMode(s resume.Session, dir string) string {
	now := b.settingsNow(s, dir)
	o := s.StartedWith()
	if o == nil || !o.ArgsSeen {
		if now == nil {
			return ""
		}
		return now.Mode
	}
	start := ""
	if o.Settings != nil {
		start = o.Settings.Mode
	}
	if now != nil && now.Mode != "" && b.Rank(now.Mode) < b.Rank(start) {
		return now.Mode
	}
	return start
}

// ModeNow returns the mode that the settings would give a run now; "": none.
func (b *Base) ModeNow(s resume.Session, dir string) string {
	if now := b.settingsNow(s, dir); now != nil {
		return now.Mode
	}
	return ""
}

// Rank returns the place of a mode among those of the agent, by what they allow: 1 is the least; 0: it is not known.
func (b *Base) Rank(mode string) int {
	if b.about.Settings == nil {
		return 0
	}
	return slices.Index(b.about.Settings.Modes, mode) + 1
}

// ChangedSettings returns the settings files that allow or forbid something else than at the start of the session. Those
// that a flag names are compared otherwise.
func (b *Base) ChangedSettings(o resume.Origin) []string {
	if o.Settings == nil || o.Sandbox != "" {
		return nil
	}
	o.BeganAt = time.Time{}
	was, now := o.Settings.Files, b.SettingsAt(o).Files
	all := maps.Clone(was)
	maps.Copy(all, now)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(path string) bool {
		_, named := o.Files[path]
		return named || was[path] == now[path]
	})
}
