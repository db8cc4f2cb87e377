package agent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

// embedded is part of what others are.
type embedded struct {
	Model  string `json:"model"`
	Effort string `json:"effort"`
}

// anything has fields of all kinds, by names that agents use.
type anything struct {
	Type      string          `json:"type"`
	SessionID string          `json:"sessionId,omitempty"`
	Timestamp string          `json:"timestamp"`
	At        time.Time       `json:"time"`
	Sidechain bool            `json:"isSidechain"`
	IsError   bool            `json:"isApiErrorMessage"`
	Status    int             `json:"apiErrorStatus"`
	Ordinal   json.RawMessage `json:"ordinal"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		Name string `json:"name"`
	} `json:"toolCalls"`
	Message struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   struct {
			Input  int64   `json:"input_tokens"`
			Output float64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"message"`
	Payload struct {
		Type string          `json:"type"`
		Info json.RawMessage `json:"info"`
		Text *string         `json:"text"`
		embedded
	} `json:"payload"`
	Hidden string `json:"-"`
}

// decoded is what the library reads.
func decoded(data []byte) (r anything, ok bool) {
	ok = agent.Decode(data, &r)
	return r, ok
}

func TestARecordIsParsedAsTheLibraryDecodesIt(t *testing.T) {
	for _, line := range []string{
		``, ` `, `{}`, ` { } `, `[]`, `null`, `"text"`, `{`, `{"type"`, `{"type":`, `{"type":"a"`, `{"type":"a",}`, `{"type":"a"}}`, `{"type":"a"} x`, `{,"type":"a"}`,
		`{"type":"a" "b":1}`, `{"type" "a"}`, `{type:"a"}`, `{1:2}`,
		"\t{ \"type\" : \"a\" ,\r\n \"isSidechain\" : true }\n",
		`{"type":"a\"b","sessionId":"\u00e4\ud83d\ude00","timestamp":"ä😀"}`, "{\"type\":\"\xff\xfe\"}", "{\"type\":\"a\tb\"}", `{"type":"a","type":"b"}`,
		`{"type":1,"isSidechain":"true","apiErrorStatus":"529","message":"a text","payload":[1,2]}`,
		`{"type":null,"isSidechain":null,"apiErrorStatus":null,"message":null,"content":null,"ordinal":null,"toolCalls":null}`,
		`{"apiErrorStatus":529.0}`, `{"apiErrorStatus":5.5e2}`, `{"apiErrorStatus":-1}`, `{"apiErrorStatus":99999999999999999999}`, `{"apiErrorStatus":007}`, `{"apiErrorStatus":+1}`,
		`{"isSidechain":truer}`, `{"isSidechain":tru}`, `{"isApiErrorMessage":true,"isSidechain":false}`,
		`{"content":[{"type":"text","text":"a } ] \" ["}],"ordinal":12}`, `{"content":"[","ordinal":{"a":[{}]}}`, `{"content":[}`, `{"content":[1,2`, `{"content":]}`,
		`{"message":{"model":"m","content":[1, 2 ],"usage":{"input_tokens":5,"output_tokens":1.5}},"type":"assistant"}`,
		`{"message":{"model":"m"},"message":{"content":"c"}}`, `{"message":{"usage":[]},"type":"x"}`,
		`{"payload":{"type":"t","info":{"a":1},"text":"x","model":"m","effort":"high"}}`, `{"payload":{"text":null}}`,
		`{"toolCalls":[{"name":"a"},{"name":2}],"time":"2026-11-15T00:00:00Z"}`, `{"time":"noon","type":"a"}`, `{"-":"x","Hidden":"x"}`,
	} {
		want, ok := decoded([]byte(line))
		got, parsed := agent.Parse[anything]([]byte(line))
		require.Equal(t, ok, parsed, line)
		if ok {
			require.Equal(t, want, got, line)
		}
	}
}

func TestWhatAgentsWroteIsParsedAsTheLibraryDecodesIt(t *testing.T) {
	files, err := filepath.Glob("*/testdata/*/*.jsonl")
	require.NoError(t, err)
	lines := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			want, ok := decoded(line)
			got, parsed := agent.Parse[anything](line)
			require.Equal(t, ok, parsed, "%s: %s", file, line)
			require.Equal(t, want, got, "%s: %s", file, line)
			lines++
		}
	}
	require.Greater(t, lines, 500)
}

// What is kept of a record must not change when the next one is read into the same memory.
func TestAParsedRecordKeepsNothingOfItsLine(t *testing.T) {
	line := []byte(`{"type":"a","content":["b"],"message":{"content":{"c":1}}}`)
	r, ok := agent.Parse[anything](line)
	require.True(t, ok)
	clear(line)
	require.Equal(t, []string{"a", `["b"]`, `{"c":1}`}, []string{r.Type, string(r.Content), string(r.Message.Content)})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"a\"b","message":{"content":[1,{"x":"y"}]},"apiErrorStatus":529,"isSidechain":true}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, parsed := agent.Parse[anything](line)
		if !json.Valid(line) {
			return
		}
		want, ok := decoded(line)
		require.Equal(t, ok, parsed)
		if ok && !bytes.ContainsAny(line, "\\") { // names may be escaped, which nobody does
			require.Equal(t, want.Message, got.Message)
		}
	})
}
