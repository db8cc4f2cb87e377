package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/doctor"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// The directory and the list, relative to this package.
const (
	parrotRoom = "../../internal/agent/parrot"
	agentList  = "../../internal/agents/agents.go"
)

// buildWithParrot builds the program with one more agent: its directory and its line in the list, with
// an import as every line there. All other files are those of the released program.
func buildWithParrot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list, err := os.ReadFile(agentList)
	require.NoError(t, err)
	more := string(list)
	for after, line := range map[string]string{
		"\t\"resumed/internal/agent/opencode\"\n": "\t\"resumed/internal/agent/parrot\"\n",
		"\topencode.Builtin,\n":                   "\tparrot.Builtin,\n",
	} {
		require.Equal(t, 1, strings.Count(more, after), "the list is as it was thought to be")
		more = strings.Replace(more, after, after+line, 1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agents.go"), []byte(more), 0o600))

	overlay := map[string]string{absolute(t, agentList): filepath.Join(dir, "agents.go")}
	files, err := filepath.Glob("testdata/parrot/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		overlay[absolute(t, filepath.Join(parrotRoom, filepath.Base(file)))] = absolute(t, file)
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), replace, 0o600))

	binary := filepath.Join(dir, "resumed")
	// Not for coverage: its tool ignores an overlay.
	build := []string{"build", forNoDebugger, "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary}
	out, err := exec.CommandContext(t.Context(), "go", append(build, ".")...).CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	require.NoError(t, err)
	return full
}

// parrotStandIn is a parrot that repeats its prompt, except for the first time in an exec.
const parrotStandIn = `#!/bin/sh
case "$1" in --version) echo "parrot 1.0"; exit;; esac
echo "$*" >> "$HOME/calls"
if [ -n "$TIRED" ] && [ "$(wc -l < "$HOME/calls")" = 1 ]; then
	echo "rate limited, retry in 1s" >&2
	exit 1
fi
[ -z "$TIRED" ] || exit 0
printf '{"at":"%s","cwd":"%s","kind":"said"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(pwd)" >> "$HOME/.parrot/perches/$2.jsonl"
`

func newParrotBox(t *testing.T, binary string) *box {
	b := newBox(t)
	b.binary = binary
	b.write("bin/parrot", parrotStandIn)
	return b
}

func (b *box) perch(id, kind, text string) {
	b.write(".parrot/perches/"+id+".jsonl", fmt.Sprintf(`{"at":%q,"cwd":%q,"kind":%q,"text":%q}`+"\n",
		time.Now().UTC().Format(time.RFC3339Nano), b.path("bot"), kind, text))
}

// An agent is one directory and one line: everything else finds it in the list.
func TestAnAgentIsOneFolderAndOneLine(t *testing.T) {
	t.Parallel()
	binary := buildWithParrot(t)
	t.Run("group", func(t *testing.T) {
		t.Run("run waits, resumes, sees progress and tells", func(t *testing.T) { parrotIsResumed(t, binary) })
		t.Run("exec continues its session", func(t *testing.T) { parrotIsExecuted(t, binary) })
		t.Run("explain, doctor, completion, help and configuration know it", func(t *testing.T) { parrotIsKnown(t, binary) })
	})
}

func parrotIsResumed(t *testing.T, binary string) {
	b, hook := newParrotBox(t, binary), newHook(t)
	b.write(configFile, `
[resume]
margin = "0s"
[backoff]
jitter = false
[[agent]]
name = "parrot"
env = ["FEATHERS=green"]
[notify]
group_wait = "0s"
events = ["recovered"]
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`"
`)
	b.start()
	b.perch("polly-1", "refused", "rate limited, retry in 2s")
	s := b.untilState("polly-1", resume.Waiting)
	require.Equal(t, "parrot", s.Agent)
	require.Equal(t, "parrot:default", s.Account)
	require.Equal(t, limit.RateLimit, s.Class)
	b.untilState("polly-1", resume.Watching)
	require.Equal(t, "--perch polly-1 -p continue\n", b.read("calls"))
	b.until("a person is told", func() bool { return len(hook.got()) == 1 })
	require.Equal(t, "bot: Polly the Parrot is working again", hook.got()[0].Title)
}

func parrotIsExecuted(t *testing.T, binary string) {
	b := newParrotBox(t, binary)
	b.vars = append(b.vars, "TIRED=1")
	_, errOut, code := b.run("exec", "--", "parrot", "-p", "say hello")
	require.Zero(t, code, errOut)
	calls := strings.Split(strings.TrimSpace(b.read("calls")), "\n")
	require.Len(t, calls, 2)
	prompt, id, given := strings.Cut(calls[0], " --perch ")
	require.True(t, given, calls[0])
	require.Equal(t, "-p say hello", prompt)
	require.Equal(t, "--perch "+id+" -p continue", calls[1], "in the same session")
}

func parrotIsKnown(t *testing.T, binary string) {
	b := newParrotBox(t, binary)
	b.perch("polly-2", "refused", "rate limited, retry in 2h")
	x := b.explain(b.path(".parrot/perches/polly-2.jsonl"))
	require.Equal(t, "parrot", x["agent"])
	require.Equal(t, "polly-2", x["session"])
	require.Equal(t, "usage_limit", x["class"])
	require.Equal(t, "wait", x["action"])

	said, _ := b.examined()
	require.Equal(t, doctor.OK, said["agent parrot"].Status, said["agent parrot"].Text)
	require.Contains(t, said["agent parrot"].Text, "parrot 1.0")
	require.Contains(t, said["agent parrot"].Text, "1 transcript in "+b.path(".parrot/perches"))

	require.Contains(t, b.offered("explain", "--agent", ""), "parrot")
	require.Contains(t, b.offered("exec", "--agent", ""), "parrot")
	help, _, _ := b.run("exec", "--help")
	require.Contains(t, strings.Join(strings.Fields(help), " "), "parrot -p")

	b.write(configFile, "[[agent]]\nname = \"parot\"\n")
	_, errOut, code := b.run("config", "check")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "did you mean parrot?")
	b.write(configFile, "[[agent]]\nname = \"parrot\"\nroots = [\""+b.path("cage")+"\"]\n")
	_, errOut, code = b.run("config", "check")
	require.Zero(t, code, errOut)
}
