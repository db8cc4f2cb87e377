package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // opencode keeps a database

	"resumed/internal/agenttest"
)

// kept is what an agent keeps of its sessions: what people said in each of
// them, by the file or the row that it is kept in.
type kept map[string][]string

// record is a line of a chat, as far as agents agree on it.
type record struct {
	Type        string
	IsMeta      bool
	IsSidechain bool
	Content     json.RawMessage
	Input       json.RawMessage
	Message     struct {
		Role           string
		Content, Parts json.RawMessage
	}
	Data    struct{ Content json.RawMessage }
	Payload struct {
		Type, Role string
		Content    json.RawMessage
	}
	Set struct{ Messages *[]record } `json:"$set"`
}

// chats reads files of lines. Given what was said before, said returns what was
// said when a line has been read.
func chats(pattern string, said func(before []string, r record) []string) func(*testing.T, string) kept {
	return func(t *testing.T, home string) kept {
		paths, err := filepath.Glob(filepath.Join(home, pattern))
		require.NoError(t, err)
		all := make(kept)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var prompts []string
			for line := range bytes.Lines(data) {
				var r record
				if json.Unmarshal(line, &r) == nil {
					prompts = said(prompts, r)
				}
			}
			all[path] = prompts
		}
		return all
	}
}

var claudeChats = chats(".claude/projects/*/*.jsonl", func(before []string, r record) []string {
	if r.Type != "user" || r.IsMeta || r.IsSidechain {
		return before
	}
	return append(before, agenttest.Texts(r.Message.Content)...)
})

var codexChats = chats(".codex/sessions/*/*/*/rollout-*.jsonl", func(before []string, r record) []string {
	if r.Type != "response_item" || r.Payload.Type != "message" || r.Payload.Role != "user" {
		return before
	}
	return append(before, agenttest.Texts(r.Payload.Content)...)
})

var qwenChats = chats(".qwen/projects/*/chats/*.jsonl", func(before []string, r record) []string {
	if r.Type != "user" {
		return before
	}
	return append(before, agenttest.Texts(r.Message.Parts)...)
})

var copilotEvents = chats(".copilot/session-state/*/events.jsonl", func(before []string, r record) []string {
	if r.Type != "user.message" {
		return before
	}
	return append(before, agenttest.Texts(r.Data.Content)...)
})

var kimiRecords = chats(".kimi-code/sessions/*/*/agents/main/wire.jsonl", func(before []string, r record) []string {
	if r.Type != "turn.prompt" {
		return before
	}
	return append(before, agenttest.Texts(r.Input)...)
})

var piSessions = chats(".pi/agent/sessions/*/*.jsonl", func(before []string, r record) []string {
	if r.Type != "message" || r.Message.Role != "user" {
		return before
	}
	return append(before, agenttest.Texts(r.Message.Content)...)
})

// Gemini CLI states all messages anew when it takes one back.
var geminiChats = chats(".gemini/tmp/*/chats/session-*.jsonl", geminiSaid)

func geminiSaid(before []string, r record) []string {
	if r.Set.Messages != nil {
		before = nil
		for _, m := range *r.Set.Messages {
			before = geminiSaid(before, m)
		}
	}
	if r.Type != "user" {
		return before
	}
	return append(before, agenttest.Texts(r.Content)...)
}

// sessionsIn reads the database of opencode, or of a program that was made of it.
func sessionsIn(path string) func(*testing.T, string) kept {
	return func(t *testing.T, home string) kept { return sessionsAt(t, filepath.Join(home, path)) }
}

func sessionsAt(t *testing.T, path string) kept {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `
		SELECT session.id, coalesce(json_extract(part.data, '$.text'), '') FROM session
		LEFT JOIN message ON message.session_id = session.id AND json_extract(message.data, '$.role') = 'user'
		LEFT JOIN part ON part.message_id = message.id AND json_extract(part.data, '$.type') = 'text'
		WHERE session.parent_id IS NULL`)
	require.NoError(t, err)
	defer rows.Close()
	all := make(kept)
	for rows.Next() {
		var id, text string
		require.NoError(t, rows.Scan(&id, &text))
		all[id] = append(all[id], text)
	}
	require.NoError(t, rows.Err())
	return all
}

// prompts is how often words were said.
type prompts map[string]int

// once is a conversation that was continued once.
var once = prompts{prompt: 1, "continue": 1}

func mustSay(t *testing.T, said []string, want prompts) {
	t.Helper()
	for words, times := range want {
		require.Equal(t, times, agenttest.Says(said, words), "%q in %q", words, said)
	}
}

// mustKeep checks that the agent keeps one session, with these prompts in it.
// The empty chat that Gemini CLI makes beside it goes when its run is over.
func (b *box) mustKeep(want prompts) {
	b.t.Helper()
	var all kept
	b.until(b.kit.agent+" keeps one session", func() bool {
		all = b.kit.kept(b.t, b.home)
		return len(all) == 1
	})
	for _, said := range all {
		mustSay(b.t, said, want)
	}
}
