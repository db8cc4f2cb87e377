package opencode

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/dirs"
)

//go:embed plugin.js
var pluginText string

// PluginName is the name of the plugin's file in opencode's directory of
// plugins.
const PluginName = "resumed.js"

// plugin returns the plugin that lets the retries of opencode, which live in
// its memory alone, reach the daemon: JavaScript that appends its events to
// the file at path.
func (b *brand) plugin(path string) string {
	quoted, _ := json.Marshal(path) // a string always can be
	return strings.NewReplacer(`"EVENTS_FILE"`, string(quoted), openCode.title, b.title).Replace(pluginText)
}

// pluginFile returns where the user's plugins are looked for.
func (b *brand) pluginFile() string {
	return filepath.Join(dirs.Config(os.Getenv), b.program, "plugin", PluginName)
}

// eventsFile returns the file that the plugin writes and Follow reads. The
// plugin runs in the user's own processes, so it is in the user's state
// directory, also where the service was given one of its own.
func (b *brand) eventsFile() string {
	return filepath.Join(dirs.UserState(os.Getenv), b.program, "events.jsonl")
}
