package opencode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The plugin is run as opencode runs it, with the events of a real one.
func TestThePluginReportsWhatASessionAsks(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here to run the plugin with")
	}
	dir := t.TempDir()
	plugin, err := os.ReadFile("../../../plugins/opencode/resumed.js")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.mjs"), plugin, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "resumed"), []byte("#!/bin/sh\nexec cat >>'"+dir+"/called'\n"), 0o700))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	captured, err := filepath.Abs("testdata/plugin-events.jsonl")
	require.NoError(t, err)
	script := `
import { readFileSync } from "node:fs"
import plugin from "./plugin.mjs"
const hooks = await plugin.server({ directory: "/src/app" })
let over
const ended = new Promise((resolve) => { over = resolve })
async function* events() {
  yield { id: "evt_1", type: "session.created", created: 1, data: { sessionID: "ses_2", location: { directory: "/src/two" } } }
  yield undefined
  yield { id: "evt_2", type: "permission.asked", created: 2, location: { directory: "/src/two" },
    data: { id: "per_1", sessionID: "ses_2", action: "shell", resources: ["make", "test"] } }
  over()
  yield { type: "session.execution.failed", data: { sessionID: "ses_2", error: { type: "provider.rate-limit" } } }
}
const cleanup = plugin.setup({ event: { subscribe: () => events() } })
await ended
cleanup()
for (const ctx of [undefined, {}, { event: {} }, { event: { subscribe: () => undefined } }]) plugin.setup(ctx)
plugin.setup({ event: { subscribe: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("no")) }) }) } })
await hooks.event({ event: { type: "permission.asked", properties: { sessionID: "ses_1", permission: "bash", metadata: { command: "make" } } } })
for (const line of readFileSync(process.argv[2], "utf8").trim().split("\n")) await hooks.event({ event: JSON.parse(line) })
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.mjs"), []byte(script), 0o600))
	out, err := exec.Command(node, filepath.Join(dir, "run.mjs"), captured).CombinedOutput()
	require.NoError(t, err, string(out))

	for _, hook := range []string{
		`{"session_id":"ses_2","hook_event_name":"SessionStart","cwd":"/src/two"}`,
		`{"session_id":"ses_2","hook_event_name":"Notification","cwd":"/src/two","notification_type":"permission_prompt","tool_name":"shell","tool_input":{"command":"make test"}}`,
		`{"session_id":"ses_1","hook_event_name":"Notification","cwd":"/src/app","notification_type":"permission_prompt","tool_name":"bash","tool_input":{"command":"make"}}`,
	} {
		require.Eventually(t, func() bool { // the plugin does not wait for the program that it calls
			called, _ := os.ReadFile(filepath.Join(dir, "called"))
			return strings.Contains(string(called), hook)
		}, time.Minute, 10*time.Millisecond, hook)
	}
}
