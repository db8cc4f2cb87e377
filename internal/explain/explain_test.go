package explain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/config"
	"resumed/internal/limit"
)

var now = time.Date(2026, 11, 15, 4, 0, 0, 0, time.UTC)

// described is an agent that the user describes.
func described(dir string) config.Agent {
	return config.Agent{
		Name: "lines", Kind: config.KindCustom, Files: []string{filepath.Join(dir, "*.log")},
		Session: `([^/]+)\.log$`, Cwd: dir, Limit: []string{"quota is used up"}, Progress: []string{"^done"}, Resume: []string{"true"},
	}
}

func newExplainer(t *testing.T, more ...config.Agent) *Explainer {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	for _, variable := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "QWEN_RUNTIME_DIR", "XDG_DATA_HOME", "OPENCODE_DB"} {
		t.Setenv(variable, "")
	}
	cfg := config.Default()
	cfg.Agents = append(cfg.Agents, more...)
	x, err := New(cfg)
	require.NoError(t, err)
	return x
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chtimes(path, now, now))
	return path
}

const (
	session = "4627940e-bc2a-481e-b968-2e9555f91b44"

	// refused is a record of Claude Code's.
	refused = `{"type":"assistant","uuid":"` + session + `","sessionId":"` + session + `","version":"2.1.3","cwd":"/src/shop","timestamp":"2026-11-15T03:59:55Z",` +
		`"isApiErrorMessage":true,"error":"server_error","apiErrorStatus":529,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded"}]}}` + "\n"
)

func TestATranscriptIsKnownWhereverItLies(t *testing.T) {
	x := newExplainer(t)
	for rule, path := range map[string]string{
		"by its place": filepath.Join(os.Getenv("HOME"), ".claude", "projects", "-src-shop"),
		"by its head":  t.TempDir(),
	} {
		found, err := x.File(t.Context(), write(t, path, session+".jsonl", refused), "", now)
		require.NoError(t, err, rule)
		require.Len(t, found, 1)
		got := found[0]
		require.Equal(t, "claude-code", got.Agent)
		require.Equal(t, session, got.Session)
		require.Equal(t, "/src/shop", got.Cwd)
		require.Equal(t, limit.Overloaded, got.Class)
		require.Equal(t, 1, got.Line)
		require.Equal(t, Wait, got.Action)
	}
}

func TestADescribedAgentIsExplainedByItsTranscripts(t *testing.T) {
	dir := t.TempDir()
	x := newExplainer(t, described(dir))
	require.Contains(t, x.Agents(), "lines", "also where it is switched off")
	path := write(t, dir, "one.log", "done: the first\nthe quota is used up\n")
	elsewhere := write(t, t.TempDir(), "copy.log", "done: the first\nthe quota is used up\n")
	for file, name := range map[string]string{path: "", elsewhere: "lines"} {
		found, err := x.File(t.Context(), file, name, now)
		require.NoError(t, err)
		require.Equal(t, "lines", found[0].Agent)
		require.NotEqual(t, limit.None, found[0].Class)
		require.Equal(t, 2, found[0].Line)
	}
	path = write(t, dir, "two.log", "nothing that counts\n")
	found, err := x.File(t.Context(), path, "lines", now)
	require.NoError(t, err)
	require.Equal(t, Explanation{
		Version: 1, File: path, Agent: "lines", Action: Leave, Why: "nothing in the file says what state a session is in",
	}, found[0])
}

func TestWhatAChatCannotContainIsSaid(t *testing.T) {
	x := newExplainer(t)
	const room = "../agent/gemini"
	for _, c := range agenttest.Cases[struct {
		File   string
		Silent bool // it does not contain what stopped it
	}](t, room) {
		found, err := x.File(t.Context(), filepath.Join(room, "testdata", filepath.FromSlash(c.File)), "", now)
		require.NoError(t, err)
		require.Equal(t, c.Silent, strings.Contains(found[0].Why, "only `resumed exec` can"), found[0].Why)
	}
}

func TestLinesAreCountedFromOne(t *testing.T) {
	path := write(t, t.TempDir(), "any", "a\n\nc\nd")
	for offset, want := range map[int64]int{0: 1, 2: 2, 3: 3, 5: 4} {
		require.Equal(t, want, lineOf(path, offset), "offset %d", offset)
	}
	require.Zero(t, lineOf(path+".gone", 0))
}

func TestWhatIsNotKnownIsNotGuessed(t *testing.T) {
	x := newExplainer(t)
	dir := t.TempDir()
	for _, name := range append(x.Agents(), "") {
		for _, text := range []string{"The tests pass now.\n", "API Error: 529 Overloaded\n", `{"message":"API Error: 529 Overloaded"}`, ""} {
			path := write(t, dir, "other", text)
			_, err := x.File(t.Context(), path, name, now)
			require.Equal(t, UnknownError(path), err, name)
		}
	}
	_, err := x.File(t.Context(), write(t, dir, "any.txt", "x"), "nobody", now)
	require.ErrorContains(t, err, `no agent is named "nobody"`)
	_, err = x.File(t.Context(), dir, "", now)
	require.ErrorContains(t, err, "not a regular file")
	_, err = x.File(t.Context(), filepath.Join(dir, "none"), "", now)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Codex leaves the compressed rollout for a moment when it unpacks it.
func TestTheCompressedFileThatIsNamedIsRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	x, dir := newExplainer(t), t.TempDir()
	plain := write(t, dir, "x.jsonl", refused)
	packed := write(t, dir, "x.jsonl.zst", agenttest.Packed(t, "The tests pass now.\n"))
	found, err := x.File(t.Context(), plain, "", now)
	require.NoError(t, err)
	require.Equal(t, plain, found[0].File)
	_, err = x.File(t.Context(), packed, "", now)
	require.Equal(t, UnknownError(packed), err, "as its user knows it")
	_, err = x.File(t.Context(), filepath.Join(dir, "none.zst"), "", now)
	require.ErrorIs(t, err, os.ErrNotExist)

	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err = x.File(ctx, packed, "", now)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left, "no copy of the conversation stays")
}
