package explain

import (
	"fmt"
	"regexp"
)

// unread are files of agents that are recognised but not supported: each contains less than another file of the agent.
var unread = []struct {
	begins        *regexp.Regexp
	kind, instead string
}{
	{
		regexp.MustCompile(`^\s*\{\s*"sessionId"\s*:[^\[]*"projectHash"\s*:[^\[]*"messages"\s*:\s*\[`),
		"a chat of an old version of Gemini CLI", "what the run printed",
	},
	{
		regexp.MustCompile(`^(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_`),
		"an export of opencode", "its database",
	},
	{regexp.MustCompile(`^\{\s*"ses_\w+"\s*:\s*\{\s*"type"\s*:`), "a server's list of sessions", "the database of opencode"},
	{regexp.MustCompile(`^\{"at":\d+,"pid":\d+,"directory":"[^\n]*"session":"ses_`), "the events of the plugin for opencode", "the database of opencode"},
	{regexp.MustCompile(`(?m)^timestamp=[^\n]* session\.id=ses_`), "a log of opencode", "its database"},
}

// notRead returns the error for a file that is recognised but not supported, or nil.
func notRead(path string, head []byte) error {
	for _, u := range unread {
		if u.begins.Match(head) {
			return fmt.Errorf("%s is %s, which is not read: give %s instead", path, u.kind, u.instead)
		}
	}
	return nil
}
