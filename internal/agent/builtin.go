package agent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/sanitize"
	"resumed/internal/usage"
)

// Builtin is an entry in the list of agents that users need not describe.
type Builtin struct {
	Name      string   // in configuration, status and metrics
	Title     string   // for people
	Headless  string   // how it is run without a terminal, for people; empty: exec cannot continue such runs
	Models    bool     // its program switches to another model by itself, if one is named
	Variables []string // of the environment, that say where it stores its sessions
	Remedies  Remedies // what a person does in it

	// CommandVariable is one that the agent sets for the commands that it runs; empty: none.
	CommandVariable string

	// New makes the agent.
	New func(Options) (Agent, error)

	// Plugin is resumed's plugin for the agent; nil: there is none.
	Plugin *Plugin

	// StatusLine parses what the agent passes to its status line command; nil: it has none.
	StatusLine func(said []byte, now time.Time) (session string, readings []usage.Reading)
}

// Remedies are what a person does if waiting does not help, as phrases. An empty one becomes general words.
type Remedies struct {
	SignIn  string // "run claude and type /login"
	Pay     string // "raise the spend limit at …"
	Shorten string // "/compact": what shortens a conversation that is too long
	Switch  string // "/model": what chooses another model
}

// Options selects an installation of an agent. The zero Options is the user's own.
type Options struct {
	Roots   []string       // homes, absolute; empty: the agent's default
	Command string         // the program's name or path; empty: it is searched
	Env     []string       // KEY=value, added for resumed runs
	Model   string         // what a resume may use if the session's own model is overloaded; empty: nothing else
	Grace   time.Duration  // a clock time this far in the past means now, not tomorrow
	Zone    *time.Location // for clock times without a zone; nil means local
}

// Plugin is resumed's plugin for an agent: with it the agent calls `resumed hook`.
type Plugin struct {
	// Install is the command that installs the plugin from DIR, a directory with plugins of this repository.
	Install string

	// Then is what the user does in the agent after that, as words; empty: nothing.
	Then string

	// Version returns the version that is installed; "": none.
	Version func() string

	// Requests says that the event PermissionRequest means that a person is asked. Other agents also
	// send it if they refuse the permission by themselves, and report a person's by Notification.
	Requests bool
}

// PluginName is the name of the plugin, and of the list in which agents find it.
const PluginName = "resumed"

// ManifestVersion returns the version in the last of the matching manifests; "": there is none.
func ManifestVersion(patterns ...string) string {
	version := ""
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern) // a bad pattern matches nothing
		for _, path := range paths {
			var manifest struct {
				Version string `json:"version"`
			}
			if ReadJSON(path, &manifest) && manifest.Version != "" {
				version = manifest.Version
			}
		}
	}
	return version
}

// EnabledPlugin reports whether settings of Claude Code enable the plugin, and from which directory.
func EnabledPlugin(path string) (dir string, enabled bool) {
	var settings struct {
		Enabled      map[string]bool `json:"enabledPlugins"`
		Marketplaces map[string]struct {
			Source struct {
				Path string `json:"path"`
			} `json:"source"`
		} `json:"extraKnownMarketplaces"`
	}
	if !ReadJSON(path, &settings) {
		return "", false
	}
	return settings.Marketplaces[PluginName].Source.Path, settings.Enabled[PluginName+"@"+PluginName]
}

// HookCall is what an agent tells a hook.
type HookCall struct {
	Session    string
	Transcript string // "": it is not named
	Asks       string // what a person is asked for, as QuestionReader.PendingQuestion returns it; "": nothing
	Answered   bool   // it does not ask any more, if it did
}

// notices are the kinds of notifications that say that a person is asked for a permission.
var notices = []string{"permission_prompt", "ToolPermission"}

// ReadHook parses the input of a hook. With requests, PermissionRequest means that a person is asked.
func ReadHook(said []byte, requests bool) HookCall {
	type tool struct {
		Command string `json:"command"`
	}
	var in struct {
		Session    string `json:"session_id"`
		SessionID  string `json:"sessionId"` // Copilot
		Transcript string `json:"transcript_path"`
		Event      string `json:"hook_event_name"`
		Notice     string `json:"notification_type"`
		Message    string `json:"message"`
		Tool       string `json:"tool_name"`
		Input      tool   `json:"tool_input"`
		Details    tool   `json:"details"` // Gemini CLI
	}
	_ = json.Unmarshal(said, &in) // a field of another type leaves the others readable
	call := HookCall{Session: cmp.Or(in.Session, in.SessionID), Transcript: in.Transcript}
	switch {
	case in.Event == "Notification" && slices.Contains(notices, in.Notice), in.Event == "PermissionRequest" && requests:
		call.Asks = "permission: " + Call{Tool: in.Tool, Use: cmp.Or(in.Input.Command, in.Details.Command)}.String()
		if in.Tool+in.Details.Command == "" && in.Message != "" {
			call.Asks = "permission: " + sanitize.Short(in.Message, longestUse)
		}
	case in.Event != "Notification" && in.Event != "PermissionRequest" && in.Event != "":
		call.Answered = true
	}
	return call
}
