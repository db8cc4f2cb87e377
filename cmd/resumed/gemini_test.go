package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

const (
	geminiSession = "1f5b6930-90d5-42d3-b422-4a4abfc38b59"
	geminiChats   = ".gemini/tmp/bot/chats/"
	geminiChat    = geminiChats + "session-2026-11-15T00-19-1f5b6930.jsonl"
	geminiStub    = geminiChats + "session-2026-11-15T00-42-1f5b6930.jsonl"
	qwenSession   = "6e6faec3-9b19-4907-bdc9-bf24ad0a6e68"
	qwenChat      = ".qwen/projects/-bot/chats/" + qwenSession + ".jsonl"
)

var capturedTime = regexp.MustCompile(`"2026-11-15T[0-9:.]+Z"`)

// now returns a captured file as if it had been written now, in the bot's directory.
func (b *box) now(file string) string {
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(b.t, err)
	text := capturedTime.ReplaceAllLiteralString(string(data), `"`+time.Now().UTC().Format("2006-01-02T15:04:05.000Z")+`"`)
	return strings.NewReplacer("/home/dev/oc/gproj", b.path("bot"), "/home/dev/oc/qproj", b.path("bot")).Replace(text)
}

func (b *box) explain(file string) map[string]any {
	out, errOut, code := b.run("explain", "--json", file)
	require.Zero(b.t, code, errOut)
	var x map[string]any
	require.NoError(b.t, json.Unmarshal([]byte(out), &x))
	return x
}

// A chat that Gemini CLI 0.61 wrote when a quota was used up, with times shifted to now.
func TestGeminiQuotaWaitsForItsReset(t *testing.T) {
	b := newBox(t)
	b.start()
	limited := time.Now()
	b.write(".gemini/tmp/bot/.project_root", b.path("bot"))
	b.write(geminiChat, b.now("gemini-usage-limit.jsonl"))

	s := b.untilState(geminiSession, resume.Waiting)
	require.Equal(t, "gemini", s.Agent)
	require.Equal(t, "gemini:default", s.Account)
	require.Equal(t, limit.UsageLimit, s.Class)
	require.WithinDuration(t, limited.Add(11520*time.Second), *s.ResetAt, time.Minute)
	require.Equal(t, time.Minute, s.NextAt.Sub(*s.ResetAt), "the margin")
	require.Equal(t, b.path("bot"), s.Cwd)

	x := b.explain(b.path(geminiChat))
	require.Equal(t, "usage_limit", x["class"])
	require.Equal(t, "text", x["reset_source"])
	require.Equal(t, "wait", x["action"])
	require.Equal(t, geminiSession, x["session"])
}

// Some editors write a byte order mark before the first record, which names the session.
func TestAByteOrderMarkHidesNoSession(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"1h\"\n")
	b.start()
	b.write(".gemini/tmp/bot/.project_root", b.path("bot"))
	b.write(geminiChat, "\ufeff"+b.now("gemini-usage-limit.jsonl"))
	b.write(codexRollout, "\ufeff"+shiftRollout(t, time.Now(), b.path("bot")))
	for _, id := range []string{geminiSession, codexSession} {
		require.Equal(t, b.path("bot"), b.untilState(id, resume.Waiting).Cwd)
	}
}

func TestExplainSaysWhatAGeminiChatCannotTell(t *testing.T) {
	b := newBox(t)
	file, err := filepath.Abs("testdata/gemini-headless-failure.jsonl")
	require.NoError(t, err)
	x := b.explain(file)
	require.Equal(t, "gemini", x["agent"], "it is recognised by its content")
	require.Equal(t, "none", x["class"])
	require.Equal(t, "none", x["action"])
	require.Contains(t, x["why"], "only `resumed exec` can")
}

// geminiStandIn does what the real gemini does on a resume: it repeats the conversation, and leaves a
// stub next to it.
const geminiStandIn = `#!/bin/sh
echo "cwd=$(pwd) args=$*" >> "$HOME/calls"
chats="$HOME/` + geminiChats + `"
now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
head='{"sessionId":"` + geminiSession + `","projectHash":"10c0","startTime":"'$now'","lastUpdated":"'$now'","kind":"main"}'
scene='{"id":"d0","timestamp":"'$now'","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n</session_context>"}]}'
real="$HOME/` + geminiChat + `"
printf '%s\n' "$head" '{"$set":{"messages":['"$scene"'],"lastUpdated":"'$now'"}}' >> "$HOME/` + geminiStub + `"
printf '%s\n' '{"$set":{"sessionId":"` + geminiSession + `"}}' '{"$set":{"messages":['"$scene"'],"lastUpdated":"'$now'"}}' >> "$real"
printf '%s\n' '{"id":"u-'$$'","timestamp":"'$now'","type":"user","content":[{"text":"second turn"}]}' >> "$real"
if [ ! -e "$HOME/failed-once" ]; then
	touch "$HOME/failed-once"
	sleep 1.5
	printf '%s\n' '{"$set":{"messages":['"$scene"'],"lastUpdated":"'$now'"}}' >> "$real"
	echo "[API Error: The model is overloaded.]" >&2
	exit 247
fi
sleep 0.3
printf '%s\n' '{"id":"g-'$$'","timestamp":"'$now'","type":"gemini","content":"done","model":"gemini-2.5-flash"}' >> "$real"
`

func TestGeminiIsResumedAndLosesNothing(t *testing.T) {
	b := newBox(t)
	b.write(configFile, `
[resume]
margin = "0s"
[backoff]
base_delay = "300ms"
jitter = false
[[agent]]
name = "gemini"
command = "`+b.path("bin/gemini")+`"
`)
	b.write("bin/gemini", geminiStandIn)
	b.write(".gemini/tmp/bot/.project_root", b.path("bot"))
	chat := strings.Replace(b.now("gemini-usage-limit.jsonl"), "after 11520s", "after 1s", 1)
	b.start()
	b.write(geminiChat, chat)

	b.until("two resumes, of which the first failed", func() bool { return strings.Count(b.read("calls"), "\n") == 2 })
	b.untilState(geminiSession, resume.Watching)
	want := "cwd=" + b.path("bot") + " args=--resume " + geminiSession + " --model gemini-2.5-flash -p second turn\n"
	require.Equal(t, want+want, b.read("calls"), "the prompt that gemini took back is given again")

	kept := ".local/state/resumed/kept/" + geminiSession
	require.Equal(t, chat, b.read(kept+"/1/"+filepath.Base(geminiChat)), "the chat as it was before")
	require.NotEmpty(t, b.read(kept+"/2/"+filepath.Base(geminiChat)))
	b.until("the stub is gone", func() bool { return b.read(geminiStub) == "" })
	require.True(t, strings.HasPrefix(b.read(geminiChat), chat), "the chat itself stays")
	b.untilOver(geminiSession)
	require.Equal(t, 2, strings.Count(b.read("calls"), "\n"))
}

// An old stub would delete the chat when gemini starts.
func TestGeminiStartsOnlyWithoutAStub(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\n[[agent]]\nname = \"gemini\"\ncommand = \""+b.path("bin/gemini")+"\"\n")
	b.write("bin/gemini", "#!/bin/sh\nls \"$HOME/"+geminiChats+"\" > \"$HOME/found\"\n")
	b.write(".gemini/tmp/bot/.project_root", b.path("bot"))
	b.start()
	b.write(geminiStub, strings.Join(strings.SplitAfter(b.now("gemini-usage-limit.jsonl"), "\n")[:2], ""))
	b.write(geminiChat, strings.Replace(b.now("gemini-usage-limit.jsonl"), "after 11520s", "after 0s", 1))
	b.until("gemini was started", func() bool { return b.read("found") != "" })
	require.Equal(t, filepath.Base(geminiChat)+"\n", b.read("found"))
}

// A chat that Qwen Code 0.24 wrote at a usage limit, with times shifted to now.
func TestQwenIsResumedAfterItsTelemetrySaysWhy(t *testing.T) {
	b := newBox(t)
	b.write(configFile, `
[backoff]
base_delay = "2s"
jitter = false
[[agent]]
name = "qwen-code"
command = "`+b.path("bin/qwen")+`"
`)
	b.write("bin/qwen", `#!/bin/sh
echo "cwd=$(pwd) args=$*" >> "$HOME/calls"
now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
echo '{"uuid":"`+qwenSession+`","sessionId":"`+qwenSession+`","timestamp":"'$now'","type":"assistant","cwd":"'$(pwd)'","version":"0.24.4","message":{"role":"model","parts":[{"text":"done"}]}}' >> "$HOME/`+qwenChat+`"
`)
	b.start()
	b.write(qwenChat, b.now("qwen-usage-limit.jsonl"))

	s := b.untilState(qwenSession, resume.Waiting)
	require.Equal(t, "qwen-code", s.Agent)
	require.Equal(t, "qwen-code:default", s.Account)
	require.Equal(t, limit.UsageLimit, s.Class)
	require.Nil(t, s.ResetAt)
	require.Equal(t, b.path("bot"), s.Cwd)

	b.untilState(qwenSession, resume.Watching)
	require.Equal(t, "cwd="+b.path("bot")+" args=--resume "+qwenSession+" --model usage_far --auth-type openai -p continue\n", b.read("calls"))

	file, err := filepath.Abs("testdata/qwen-usage-limit.jsonl")
	require.NoError(t, err)
	x := b.explain(file)
	require.Equal(t, "qwen-code", x["agent"], "it is recognised by its content")
	require.Equal(t, "usage_limit", x["class"])
}
