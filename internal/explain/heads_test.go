package explain

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/agenttest"
)

// rooms are the names of the agents whose transcripts are files, by the directory of their captures.
var rooms = map[string]string{
	"claude": "claude-code", "codex": "codex", "copilot": "copilot", "gemini": "gemini", "kimi": "kimi", "pi": "pi", "qwen": "qwen-code",
}

// captured returns the beginnings of transcripts that a real agent wrote.
func captured(t testing.TB, room string) (heads []string) {
	dir := filepath.Join("../agent", room)
	for _, c := range agenttest.Cases[struct{ File string }](t, dir) {
		path := filepath.Join(dir, "testdata", filepath.FromSlash(c.File))
		if room == "codex" {
			path = filepath.Join(dir, "testdata/rollouts", c.File)
		}
		head, err := readHead(path)
		require.NoError(t, err)
		heads = append(heads, string(head))
	}
	return heads
}

func TestTranscriptsAreRecognisedByTheirBeginning(t *testing.T) {
	for room, name := range rooms {
		for _, head := range captured(t, room) {
			for other := range heads {
				require.Equal(t, other == name, recognises(other, []byte(head)), "%s: %s", other, head)
			}
		}
	}
}

func TestEveryAgentsFilesAreRecognised(t *testing.T) {
	for _, b := range agents.Builtin() {
		require.Contains(t, heads, b.Name)
	}
}

func TestOtherFilesAreNotRecognised(t *testing.T) {
	const id = "4627940e-bc2a-481e-b968-2e9555f91b44"
	for _, text := range []string{
		"", "plain text\n",
		`{"type":"result","subtype":"success","uuid":"` + id + `","session_id":"` + id + `","is_error":false,"result":"x"}`,
		`{"type":"session.start","data":{"sessionId":"` + id + `"}}`,
		`{"type":"metadata","version":1}`,
		`{"type":"session","id":"1"}`,
		`{"type":"user","sessionId":"` + id + `","message":{"parts":[]}}`,
		`{"type":"session_meta"}`,
		`{"sessionId":"` + id + `","type":"user","uuid":"x"}`,
	} {
		for name := range heads {
			require.False(t, recognises(name, []byte(text+"\n")), "%s: %s", name, text)
		}
	}
}

func FuzzHeads(f *testing.F) {
	for room := range rooms {
		for _, head := range captured(f, room) {
			f.Add(head[:min(len(head), 4096)])
		}
	}
	f.Fuzz(func(_ *testing.T, text string) {
		for name := range heads {
			recognises(name, []byte(text))
		}
	})
}
