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

// PluginName is the name of the plugin's file in opencode's plugin directory.
const PluginName = "resumed.js"

// plugin returns the plugin, which reports opencode's retries to the daemon, because they are only in its memory:
// JavaScript that appends its events to the file at path.
func (b *brand) plugin(path string) string {
	quoted, _ := json.Marshal(path) // a string can always be encoded
	return strings.NewReplacer(`"EVENTS_FILE"`, string(quoted), openCode.title, b.title).Replace(pluginText)
}

// pluginFile returns the path for the plugin in the user's plugin directory.
func (b *brand) pluginFile() string {
	return filepath.Join(dirs.Config(os.Getenv), b.program, "plugin", PluginName)
}

// eventsFile returns the file that the plugin writes and Follow reads. The plugin runs in the user's processes, so
// the file is in the user's state directory, even if the service has its own.
func (b *brand) eventsFile() string {
	return filepath.Join(dirs.UserState(os.Getenv), b.program, "events.jsonl")
}
