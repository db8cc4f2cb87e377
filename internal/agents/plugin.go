package agents

import "resumed/internal/agent/opencode"

// OpencodePlugin returns the plugin by which opencode tells of its own
// retries, and where it belongs.
func OpencodePlugin() (path, text string) {
	return opencode.PluginFile(), opencode.Plugin(opencode.EventsFile())
}
