package execrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/explain"
	"resumed/internal/lastwords"
	"resumed/internal/limit"
)

const id = "4f2a1c9e-0000-4000-8000-000000000001"

// A prompt is written with _ for the blanks in it.
func args(s string) []string {
	words := strings.Fields(s)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	return words
}

func TestRetriesKeepTheFlagsAndReplaceThePrompt(t *testing.T) {
	for _, c := range []struct{ rule, first, next string }{
		{"claude: prompt before flags", "claude -p fix_it --model opus", "claude -p --model opus --resume ID continue"},
		{"claude: prompt after flags", "claude --model opus --print fix_it", "claude --model opus --print --resume ID continue"},
		{"claude: lists of tools", "claude -p fix_it --allowedTools Edit Bash(git:*) --add-dir ../a ../b", "claude -p --allowedTools Edit Bash(git:*) --add-dir ../a ../b --resume ID continue"},
		{"claude: permission mode and settings", "claude --permission-mode acceptEdits --settings s.json -p fix_it", "claude --permission-mode acceptEdits --settings s.json -p --resume ID continue"},
		{"claude: values joined with =", "claude -p --model=opus --permission-mode=plan fix_it", "claude -p --model=opus --permission-mode=plan --resume ID continue"},
		{"claude: an id of its own", "claude -p --session-id abcd-1234 fix_it", "claude -p --resume ID continue"},
		{"claude: continued", "claude -pc fix_it", "claude -p --resume ID continue"},
		{"claude: resumed", "claude -p -r abcd-1234 fix_it --verbose", "claude -p --verbose --resume ID continue"},
		{"claude: forked", "claude -p -r abcd-1234 --fork-session fix_it", "claude -p --resume ID continue"},
		{"claude: input by lines of JSON", "claude -p --input-format stream-json --output-format stream-json --replay-user-messages", "claude -p --output-format stream-json --resume ID continue"},
		{"claude: prompt after --", "claude -p -- --help_me", "claude -p --resume ID continue"},
		{"claude: a path", "/opt/bin/claude -p x", "/opt/bin/claude -p --resume ID continue"},
		{"claude: a flag nobody knows keeps what follows", "claude -p --new-flag value --other fix_it", "claude -p --new-flag value --other fix_it --resume ID continue"},
		{"codex: flags", "codex exec -C /src -s read-only -m gpt-5 -c model_reasoning_effort=high --json fix_it", "codex exec -C /src -s read-only -m gpt-5 -c model_reasoning_effort=high --json resume ID continue"},
		{"codex: flags after the prompt", "codex exec fix_it --sandbox workspace-write", "codex exec --sandbox workspace-write resume ID continue"},
		{"codex: flags before exec stay there", "codex -m gpt-5 --search e --full-auto fix_it", "codex -m gpt-5 --search exec --full-auto resume ID continue"},
		{"codex: resumed", "codex exec --json resume --last go_on", "codex exec --json resume ID continue"},
		{"codex: resumed by id", "codex exec resume abcd-1234 go_on -m gpt-5", "codex exec -m gpt-5 resume ID continue"},
		{"codex: pictures are in the session", "codex exec -i a.png fix_it", "codex exec resume ID continue"},
		{"codex: values without a blank", "codex exec -sread-only -mgpt-5 fix_it", "codex exec -sread-only -mgpt-5 resume ID continue"},
		{"opencode: flags", "opencode run --format json -m a/b --agent build fix it now", "opencode run --format json -m a/b --agent build --session ID continue"},
		{"opencode: continued", "opencode --print-logs run -c --fork --title t -f a.txt fix_it", "opencode --print-logs run --session ID continue"},
		{"opencode: a session", "opencode run fix_it -s ses_1234", "opencode run --session ID continue"},
		{"gemini: prompt still there", "gemini -p fix_it -m pro --approval-mode yolo", "gemini -m pro --approval-mode yolo --resume ID -p continue"},
		{"gemini: plain prompt", "gemini -y fix_it", "gemini -y --resume ID -p continue"},
		{"qwen: flags", "qwen --prompt fix_it -y -m coder", "qwen -y -m coder --resume ID -p continue"},
		{"qwen: continued", "qwen --continue -p fix_it", "qwen --resume ID -p continue"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			talk := newTalk(Options{Argv: args(c.first), Prompt: "continue"})
			require.NotNil(t, talk.speaks)
			require.Equal(t, args(c.first), talk.argv, "what was asked for")
			again, continued := talk.next()
			require.False(t, continued, "no session is known yet")
			require.Equal(t, talk.first(), again)

			talk.known = session{id: id}
			argv, continued := talk.next()
			require.True(t, continued)
			require.Equal(t, args(strings.ReplaceAll(c.next, "ID", id)), argv)
		})
	}
}

func TestAPromptIsNeverTakenForAnOption(t *testing.T) {
	for _, first := range []string{"claude -p x", "codex exec x", "opencode run x", "qwen -p x"} {
		talk := newTalk(Options{Argv: args(first), Prompt: "-continue"})
		talk.known = session{id: id}
		argv, _ := talk.next()
		last := argv[len(argv)-1]
		require.True(t, last == "--prompt=-continue" || argv[len(argv)-2] == "--" && last == "-continue", argv)
	}
}

func TestWhoseCommandItIs(t *testing.T) {
	for _, c := range []struct {
		agent, argv, name string
		speaks            bool
	}{
		{"", "claude -p x", "claude-code", true},
		{"", "claude x", "claude-code", false},
		{"", "claude mcp list", "claude-code", false},
		{"", "codex exec review x", "codex", false},
		{"", "codex x", "codex", false},
		{"", "opencode serve", "opencode", false},
		{"", "gemini", "gemini", false},
		{"", "gemini -i x", "gemini", false},
		{"", "gemini mcp list", "gemini", false},
		{"", "make -p claude", "", false},
		{"", "env A=1 claude -p x", "", false},
		{"claude-code", "env A=1 claude -p x", "claude-code", true},
		{"claude-code", "my-claude -p x", "claude-code", true},
		{"mybot", "claude -p x", "mybot", false},
	} {
		talk := newTalk(Options{Agent: c.agent, Argv: args(c.argv)})
		require.Equal(t, c.name, talk.name, c.argv)
		require.Equal(t, c.speaks, talk.speaks != nil, c.argv)
	}
	talk := newTalk(Options{Agent: "claude-code", Argv: args("env A=1 claude -p x"), Prompt: "continue"})
	talk.known = session{id: id}
	argv, _ := talk.next()
	require.Equal(t, args("env A=1 claude -p --resume "+id+" continue"), argv)
}

func TestClaudeIsGivenAnIDOnlyWhereItTakesOne(t *testing.T) {
	for argv, given := range map[string]bool{
		"claude -p x":    true,
		"claude -p -- x": true,
		"claude -p -r abcd-1234 --fork-session x":   true,
		"claude -p -r abcd-1234 x":                  false,
		"claude -p -c x":                            false,
		"claude -p --session-id abcd-1234 x":        false,
		"claude -p --no-session-persistence x":      false,
		"claude -p --worktree tree x":               false,
		"claude -p --resume /p/abcd-1234.jsonl now": false,
	} {
		talk := newTalk(Options{Argv: args(argv)})
		first := talk.first()
		if !given {
			require.Equal(t, args(argv), first)
			continue
		}
		require.NotEmpty(t, talk.id, argv)
		require.Contains(t, strings.Join(first, " "), "--session-id "+talk.id)
		if at := strings.Index(argv, "-- "); at > 0 {
			require.Less(t, strings.Index(strings.Join(first, " "), "--session-id"), at+50)
			require.Equal(t, "x", first[len(first)-1])
		}
	}
	require.Equal(t, "abcd-1234", newTalk(Options{Argv: args("claude -p --resume /p/abcd-1234.jsonl now")}).id)
}

// heardIn lets a talk hear a run that printed that, in a home of its own.
func heardIn(t *testing.T, argv, dir, stdout, stderr string, before func(home string)) *talk {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": "", "GEMINI_CLI_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	talk := newTalk(Options{Argv: args(argv), Dir: dir, Prompt: "continue", Hear: hears(t)})
	began := time.Now()
	if before != nil {
		before(home)
	}
	end := new(ending)
	end.stdout.add([]byte(stdout))
	end.stderr.add([]byte(stderr))
	talk.heard(end, began)
	return talk
}

func write(t *testing.T, path, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestClaudeSessionsAreFoundByTheirTranscripts(t *testing.T) {
	t.Run("the id it was given counts once there is a transcript", func(t *testing.T) {
		talk := heardIn(t, "claude -p x", "/src/shop", "", "", func(home string) {
			write(t, filepath.Join(home, ".claude/projects/-src-shop/other.jsonl"), "")
			require.NoError(t, os.Chtimes(filepath.Join(home, ".claude/projects/-src-shop/other.jsonl"), time.Time{}, time.Now().Add(-time.Hour)))
		})
		require.Empty(t, talk.known, "no session was begun: it starts over")
	})
	t.Run("one that was continued without an id", func(t *testing.T) {
		talk := heardIn(t, "claude -p -c x", "/src/shop", "", "", func(home string) {
			write(t, filepath.Join(home, ".claude/projects/-src-shop/abcd-1234.jsonl"), "")
		})
		require.Equal(t, "abcd-1234", talk.known.id)
	})
	t.Run("two of them leave it open", func(t *testing.T) {
		talk := heardIn(t, "claude -p -c x", "/src/shop", "", "", func(home string) {
			write(t, filepath.Join(home, ".claude/projects/-src-shop/abcd-1234.jsonl"), "")
			write(t, filepath.Join(home, ".claude/projects/-src-shop/abcd-5678.jsonl"), "")
		})
		require.Empty(t, talk.known)
	})
}

func TestOpencodeSessionsAreFoundInItsLog(t *testing.T) {
	log := func(at time.Time, run, session string) string {
		return "timestamp=" + at.UTC().Format("2006-01-02T15:04:05.000Z") + " level=INFO run=" + run +
			" message=stream session.id=" + session + " small=false agent=build\n"
	}
	now := time.Now().Add(time.Second)
	for rule, c := range map[string]struct{ text, want string }{
		"the first session of the only process": {log(now, "aa", "ses_one") + log(now, "aa", "ses_child"), "ses_one"},
		"what was there before does not count":  {log(now.Add(-time.Hour), "bb", "ses_old") + log(now, "aa", "ses_one"), "ses_one"},
		"two processes leave it open":           {log(now, "aa", "ses_one") + log(now, "bb", "ses_two"), ""},
		"nothing":                               {"", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			talk := heardIn(t, "opencode run x", "/src", "", "Error: Rate limit reached for requests", func(home string) {
				write(t, filepath.Join(home, ".local/share/opencode/log/opencode.log"), c.text)
			})
			require.Equal(t, c.want, talk.known.id)
		})
	}
}

func TestGeminiIsContinuedAsFarAsItsChatGoes(t *testing.T) {
	const (
		header  = `{"sessionId":"` + id + `","kind":"main"}` + "\n"
		context = `{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"<session_context>\nThis is"}]}]}}` + "\n"
		asked   = `{"id":"2","type":"user","content":[{"text":"fix it"}]}` + "\n"
		said    = `{"id":"3","type":"gemini","content":"done"}` + "\n"
		undone  = `{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"<session_context>"}]},{"id":"3","type":"gemini","content":"done"}]}}` + "\n"
	)
	for rule, c := range map[string]struct {
		chat string
		want session
	}{
		"a first prompt that was taken back leaves nothing": {header + context + asked + context, session{}},
		"one that was killed is still there":                {header + context + asked, session{id: id}},
		"a later prompt that was taken back is given again": {header + context + said + asked + undone, session{id: id, again: true}},
		"nonsense": {"{}\nnot JSON\n", session{}},
	} {
		t.Run(rule, func(t *testing.T) {
			talk := heardIn(t, "gemini -p fix_it", "/src/shop", "", "", func(home string) {
				write(t, filepath.Join(home, ".gemini/tmp/shop/.project_root"), "/src/shop")
				write(t, filepath.Join(home, ".gemini/tmp/shop/chats/session-2026-11-15T00-10-4f2a1c9e.jsonl"), c.chat)
			})
			talk.known.transcript = ""
			require.Equal(t, c.want, talk.known)
		})
	}
	t.Run("a stub beside the real chat is passed over", func(t *testing.T) {
		var real string
		talk := heardIn(t, "gemini -p fix_it --resume "+id, "/src/shop", "", "", func(home string) {
			write(t, filepath.Join(home, ".gemini/tmp/shop/.project_root"), "/src/shop")
			real = filepath.Join(home, ".gemini/tmp/shop/chats/session-2026-11-15T00-10-4f2a1c9e.jsonl")
			write(t, real, header+context+said)
			write(t, filepath.Join(home, ".gemini/tmp/shop/chats/session-2026-11-15T00-20-4f2a1c9e.jsonl"), header+context)
		})
		require.Equal(t, session{id: id, again: true, transcript: real}, talk.known)
	})
}

func TestQwenSessionsAreFoundByTheirChats(t *testing.T) {
	talk := heardIn(t, "qwen -p fix_it", "/src/shop", "", "", func(home string) {
		write(t, filepath.Join(home, ".qwen/projects/-src-shop/chats/"+id+".jsonl"), "{}\n")
	})
	require.Equal(t, session{id: id}, talk.known)
}

func TestIDsThatAreNoneAreNotUsed(t *testing.T) {
	for _, bad := range []string{"--evil", "../../etc", "a b", "", strings.Repeat("x", 500)} {
		talk := newTalk(Options{Argv: args("codex exec x"), Hear: func(string, string, string, time.Time) Heard { return Heard{Session: bad} }})
		talk.heard(new(ending), time.Now())
		require.Empty(t, talk.known.id)
	}
}

// hears understands the agents' own formats.
func hears(t *testing.T) func(agent, stdout, stderr string, at time.Time) Heard {
	hear, err := explain.Hear(config.Default())
	require.NoError(t, err)
	return func(agent, stdout, stderr string, at time.Time) Heard { return Heard(hear(agent, stdout, stderr, at)) }
}

func captured(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(data)
}

func TestJudgement(t *testing.T) {
	for rule, c := range map[string]struct {
		argv, stdout, stderr string
		code                 int
		failed               bool // though the code may be 0
		class                limit.Class
		gist                 string
	}{
		"codex": {"codex exec x", "", "session id: " + id + "\nERROR: Reconnecting... 1/2\nERROR: You’ve hit your usage limit. Try again at 12:58 AM.\ntokens used\n1,240\n", 1, true, limit.UsageLimit, "You’ve hit your usage limit. Try again at 12:58 AM."},
		"opencode, in colour": {"opencode run x", "", "\x1b[0m\n> build · rl\n\x1b[0m\n\x1b[91m\x1b[1mError: \x1b[0mRate limit reached for requests\n", 1, true,
			limit.RateLimit, "Rate limit reached for requests"},
		"claude, with a result that is none": {"claude -p x", `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 Overloaded"}` + "\n" +
			`{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":0}`, "", 0, true, limit.Overloaded, "API Error: 529 Overloaded"},
		"gemini, by its exit code": {"gemini -p x", "", "", 173, false, limit.RateLimit, ""},
		"gemini, with a stack": {"gemini -p x", "", captured(t, "gemini-0.61-429.stderr"), 1, true, limit.RateLimit,
			"Resource has been exhausted (e.g. check quota)."},
		"gemini, that says 0":         {"gemini -p x", `{"type":"result","status":"error","error":{"message":"[API Error: terminated]"}}`, "", 0, true, limit.Network, "[API Error: terminated]"},
		"gemini, that is fine":        {"gemini -p x", `{"type":"result","status":"success","stats":{}}`, "", 0, false, limit.None, ""},
		"gemini, that gave up trying": {"gemini -p x", `{"type":"result","status":"error","error":{"message":"[API Error: No capacity available for model x on the server]"}}`, "Attempt 1 failed: No capacity available. Retrying after 1189ms...", 173, true, limit.Overloaded, "[API Error: No capacity available for model x on the server]"},
		"qwen, that says 0":           {"qwen -p x", "[API Error: 401 Incorrect API key provided: dummy.]\n", "", 0, true, limit.Auth, "[API Error: 401 Incorrect API key provided: dummy.]"},
		"qwen, that speaks of errors": {"qwen -p x", "The text [API Error: 401] means that a key is wrong.\n", "", 0, false, limit.None, "The text [API Error: 401] means that a key is wrong."},
		"anybody else's 0":            {"mycmd", "[API Error: 401 Incorrect API key]", "", 0, false, limit.Auth, "[API Error: 401 Incorrect API key]"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			talk := newTalk(Options{Argv: args(c.argv), Dir: "/src", Hear: hears(t)})
			end := &ending{code: c.code, at: time.Now()}
			end.stdout.add([]byte(c.stdout))
			end.stderr.add([]byte(c.stderr))
			talk.heard(end, end.at)
			require.Equal(t, c.failed, talk.failed())
			verdict, words := talk.judge(end, limit.Reader{At: end.at})
			require.Equal(t, c.class, verdict.Class)
			require.Equal(t, c.gist, words)
		})
	}
}

func TestWordsAreKeptAtBothEnds(t *testing.T) {
	var w words
	var printed strings.Builder
	for i := range 5000 {
		text := strings.Repeat(string(rune('a'+i%26)), i%97) + "\n"
		printed.WriteString(text)
		w.add([]byte(text))
	}
	all := printed.String()
	require.Equal(t, all[:kept]+"\n"+all[len(all)-kept:], w.all())

	w = words{}
	w.add([]byte("one\n"))
	w.add([]byte("\x1b[31mtwo\x1b[0m\n"))
	require.Equal(t, "one\ntwo\n", w.all(), "a little is kept once")

	w = words{}
	w.add([]byte(strings.Repeat("x", 3*kept) + "\nthe end\n\n"))
	require.Equal(t, "the end", lastwords.Last(w.all()))
	require.LessOrEqual(t, len(w.ring), kept)
}

func FuzzLine(f *testing.F) {
	f.Add("claude -p fix_it --allowedTools a b -- x")
	f.Add("codex -c a=b exec resume --last -")
	f.Add("opencode run -ffile --session= x")
	f.Add("gemini -pyx -r --")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Fields(text)
		if len(argv) == 0 {
			return
		}
		for _, agent := range append(Agents(), "") {
			talk := newTalk(Options{Agent: agent, Argv: argv, Prompt: "continue"})
			if talk.speaks == nil {
				continue
			}
			talk.known = session{id: id}
			next, _ := talk.next()
			require.Contains(t, next, id)
		}
	})
}
