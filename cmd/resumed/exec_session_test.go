package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The ids of a session that a run started, and of a person's session.
const (
	ownID     = "4f2a1c9e-0000-4000-8000-000000000001"
	personsID = "7b3d2e8f-0000-4000-8000-000000000002"
)

// chatKeeper are shell functions that write the files of agents, given the session and its first
// prompt.
const chatKeeper = `
geminiChat() {
	dir=$HOME/.gemini/tmp/home; mkdir -p $dir/chats; pwd > $dir/.project_root
	{
		echo '{"sessionId":"'$1'","projectHash":"x","startTime":"2026-11-15T00:15:29.027Z","lastUpdated":"2026-11-15T00:15:29.027Z","kind":"main"}'
		echo '{"id":"2","timestamp":"2026-11-15T00:15:30.000Z","type":"user","content":[{"text":"'"$2"'"}]}'
		echo '{"id":"3","timestamp":"2026-11-15T00:15:31.000Z","type":"gemini","content":"I am at it."}'
	} > $dir/chats/session-2026-11-15T00-15-$(echo $1 | cut -c1-8).jsonl
}
qwenChat() {
	dir=${QWEN_RUNTIME_DIR:-${QWEN_HOME:-$HOME/.qwen}}/projects/$(pwd | tr -c '0-9A-Za-z\n' -)/chats; mkdir -p $dir
	echo '{"sessionId":"'$1'","uuid":"'$1'","version":"0.24.4","cwd":"'$PWD'","timestamp":"2026-11-15T00:15:30.000Z","type":"user","message":{"role":"user","parts":[{"text":"'"$2"'"}]}}' > $dir/$1.jsonl
}
claudeTranscript() {
	dir=$HOME/.claude/projects/$(pwd | tr -c '0-9A-Za-z\n' -); mkdir -p $dir
	echo '{"type":"user","sessionId":"'$1'","cwd":"'$PWD'","timestamp":"2026-11-15T00:15:30.000Z","uuid":"u","message":{"role":"user","content":"'"$2"'"}}' >> $dir/$1.jsonl
}
opencodeLog() {
	dir=$HOME/.local/share/opencode/log; mkdir -p $dir
	echo "timestamp=$(date -u -d '1 second' +%Y-%m-%dT%H:%M:%S.000Z) level=INFO run=aa message=stream session.id=$1 small=false agent=build" >> $dir/opencode.log
}
`

func TestExecContinuesNobodyElsesSession(t *testing.T) {
	t.Parallel()
	const overloaded = `echo "API Error: 529 Overloaded."; exit 1`
	for name, c := range map[string]struct {
		before string // runs before the command
		run    string // what the run does and what a person does meanwhile
		argv   string
	}{
		"gemini was refused before it wrote a chat, and a person's goes on": {
			before: "geminiChat " + personsID + " 'write a poem'",
			run:    "geminiChat " + personsID + " 'write a poem'; exit 247",
			argv:   "gemini -p task -y",
		},
		"gemini was refused before it wrote a chat, and a person begins one": {
			run:  "geminiChat " + personsID + " 'write a poem'; exit 247",
			argv: "gemini -p task -y",
		},
		"gemini was refused, and a person's older chat began with the same words": {
			before: "geminiChat " + personsID + " task",
			run:    "geminiChat " + personsID + " task; exit 247",
			argv:   "gemini -p task -y",
		},
		"gemini speaks of another session": {
			before: "geminiChat " + personsID + " task",
			run:    `echo '{"type":"init","session_id":"` + personsID + `","model":"m"}'; echo '{"type":"result","status":"error","error":{"message":"[API Error: The model is overloaded.]"}}'; exit 247`,
			argv:   "gemini -p task",
		},
		"claude continues what it finds": {
			run:  "claudeTranscript " + personsID + " 'write a poem'; " + overloaded,
			argv: "claude -p -c task",
		},
		"claude speaks of another session": {
			run:  `echo '{"type":"result","is_error":true,"session_id":"` + personsID + `","result":"API Error: 529 Overloaded."}'; ` + overloaded,
			argv: "claude -p -c task",
		},
		"qwen was refused before it wrote a chat, and a person's goes on": {
			before: "qwenChat " + personsID + " 'write a poem'",
			run:    "qwenChat " + personsID + " 'write a poem'; " + overloaded,
			argv:   "qwen -p task",
		},
		"qwen was refused before it wrote a chat, and a person begins one": {
			run:  "qwenChat " + personsID + " 'write a poem'; " + overloaded,
			argv: "qwen -p task",
		},
		"qwen continues what it finds": {
			before: "qwenChat " + personsID + " task",
			run:    "qwenChat " + personsID + " task; " + overloaded,
			argv:   "qwen --continue -p task",
		},
		"opencode was refused before it began, and a person's works": {
			run:  "opencodeLog ses_persons; echo 'Error: Rate limit reached for requests' >&2; exit 1",
			argv: "opencode run task",
		},
		"opencode continues what it finds": {
			run:  "opencodeLog ses_persons; echo 'Error: Rate limit reached for requests' >&2; exit 1",
			argv: "opencode run --continue task",
		},
		"codex speaks of another session": {
			run:  "echo 'session id: " + personsID + "'; echo 'ERROR: Selected model is at capacity. Please try a different model.' >&2; exit 1",
			argv: "codex exec resume --last task",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
			argv := strings.Fields(c.argv)
			env := b.agentIs(argv[0], chatKeeper+"[ $n -ge 2 ] || { "+c.run+"; }")
			b.sh(chatKeeper + c.before)
			errOut, code := b.execAs(env, append([]string{"--"}, argv...)...)
			require.Zero(t, code, errOut)
			asked := strings.Join(argv[1:], " ") + "\n"
			require.Equal(t, asked+asked, b.read("args"), "the command is repeated as it was")
		})
	}
}

// sh runs a script in the box's home.
func (b *box) sh(script string) {
	b.t.Helper()
	b.write("before.sh", script+"\n:")
	cmd := b.command()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", b.path("before.sh")}
	require.NoError(b.t, cmd.Run(), b.logged())
}

func TestExecContinuesTheSessionThatItsRunHasBegun(t *testing.T) {
	t.Parallel()
	const overloaded = `echo "API Error: 529 Overloaded."; exit 1`
	for name, c := range map[string]struct {
		vars             []string
		run, argv, again string
	}{
		"gemini, beside a person's": {
			run:   "geminiChat " + personsID + " 'write a poem'; geminiChat " + ownID + " task; exit 247",
			argv:  "gemini -p task -y",
			again: "-p task -y --resume " + ownID,
		},
		"qwen, beside a person's": {
			run:   "qwenChat " + personsID + " 'write a poem'; qwenChat " + ownID + " task; " + overloaded,
			argv:  "qwen task -y",
			again: "-y --resume " + ownID + " -p continue",
		},
		"qwen with QWEN_HOME": {
			vars:  []string{"QWEN_HOME=/HOME/elsewhere"},
			run:   "qwenChat " + ownID + " task; " + overloaded,
			argv:  "qwen -p task",
			again: "--resume " + ownID + " -p continue",
		},
		"qwen with QWEN_RUNTIME_DIR": {
			vars:  []string{"QWEN_HOME=/HOME/elsewhere", "QWEN_RUNTIME_DIR=/HOME/run"},
			run:   "qwenChat " + ownID + " task; " + overloaded,
			argv:  "qwen -p task",
			again: "--resume " + ownID + " -p continue",
		},
		"codex that continues the last one says which that is": {
			run:   "echo 'session id: " + ownID + "' >&2; echo 'ERROR: Selected model is at capacity. Please try a different model.' >&2; exit 1",
			argv:  "codex exec resume --last task",
			again: "exec resume " + ownID + " continue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
			argv := strings.Fields(c.argv)
			env := b.agentIs(argv[0], chatKeeper+"[ $n -ge 2 ] || { "+c.run+"; }")
			for _, variable := range c.vars {
				env = append(env, strings.ReplaceAll(variable, "/HOME", b.home))
			}
			errOut, code := b.execAs(env, append([]string{"--"}, argv...)...)
			require.Zero(t, code, errOut)
			require.Equal(t, strings.Join(argv[1:], " ")+"\n"+c.again+"\n", b.read("args"))
		})
	}
}

func TestExecFindsTheSessionOfOpencodeInItsDatabase(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	db := b.opencodeDB()
	said := func(session, text string) {
		now := time.Now().UnixMilli()
		db.session(session, "", b.home)
		db.exec("INSERT INTO message VALUES (?, ?, ?, ?, ?)", "msg_"+session, session, now, now, `{"role":"user"}`)
		db.exec("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", "prt_"+session, "msg_"+session, session, now, now, fmt.Sprintf(`{"type":"text","text":%q}`, text))
	}
	said("ses_older", `"fix it" now`)
	env := b.agentIs("opencode", `[ $n -ge 2 ] || { while [ ! -e go ]; do sleep 0.05; done; echo "Error: Rate limit reached for requests" >&2; exit 1; }`)
	done := make(chan int, 1)
	go func() {
		_, code := b.execAs(env, "--", "opencode", "run", "-m", "a/b", "fix it", "now")
		done <- code
	}()
	b.until("it runs", func() bool { return b.times() == 1 })
	said("ses_persons", "write a poem")
	said("ses_own", `"fix it" now`+"\n")
	b.write("go", "")
	require.Zero(t, <-done, b.logged())
	require.Equal(t, "run -m a/b fix it now\nrun -m a/b --session ses_own continue\n", b.read("args"))
}
