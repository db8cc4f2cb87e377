package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/execrun"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// The process that holds the session would find a second conversation in it, and the task would be
// done twice.
func TestExecWaitsForTheProcessThatHoldsTheSession(t *testing.T) {
	t.Parallel()
	const stays = ` >/dev/null 2>&1 </dev/null & echo $! > holder`
	for name, c := range map[string]struct{ run, argv, again string }{
		"claude": {
			run: `id=; while [ $# -gt 0 ]; do [ $1 != --session-id ] || id=$2; shift; done
claudeTranscript $id task; sleep 300` + stays + `; pid=$(cat holder)
mkdir -p $HOME/.claude/sessions; echo '{"pid":'$pid',"sessionId":"'$id'","entrypoint":"cli","status":"idle"}' > $HOME/.claude/sessions/$pid.json
echo "API Error: 529 Overloaded."; exit 1`,
			argv: "claude -p task", again: "-p --resume ID continue",
		},
		"codex": {
			run: `mkdir -p $HOME/.codex/thread-writer-locks; flock --no-fork $HOME/.codex/thread-writer-locks/` + ownID + `.lock sleep 300` + stays + `
echo "session id: ` + ownID + `" >&2; echo "ERROR: Selected model is at capacity. Please try a different model." >&2; sleep 1; exit 1`,
			argv: "codex exec task", again: "exec resume " + ownID + " continue",
		},
		"gemini": {
			run:  `mkdir other; cp $(command -v sleep) other/gemini; other/gemini 300` + stays + `; geminiChat ` + ownID + ` task; exit 247`,
			argv: "gemini -p task", again: "-p task --resume " + ownID,
		},
		"qwen": {
			run:  `mkdir other; cp $(command -v sleep) other/qwen; other/qwen 300` + stays + `; qwenChat ` + ownID + ` task; echo "API Error: 529 Overloaded."; exit 1`,
			argv: "qwen -p task", again: "--resume " + ownID + " -p continue",
		},
		"opencode": {
			run:  `mkdir other; cp $(command -v sleep) other/opencode; other/opencode 300` + stays + `; echo '{"type":"error","sessionID":"ses_own","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}'; exit 1`,
			argv: "opencode run --format json task", again: "run --format json --session ses_own continue",
		},
		"opencode, and the prompt came by a pipe": {
			run:  `cat > /dev/null; mkdir other; cp $(command -v sleep) other/opencode; other/opencode 300` + stays + `; echo '{"type":"error","sessionID":"ses_own","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}'; exit 1`,
			argv: "opencode run --format json", again: "run --format json --session ses_own continue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
			argv := strings.Fields(c.argv)
			cmd := b.command(append([]string{"exec", "--timeout", "30s", "--"}, argv...)...)
			cmd.Env, cmd.Stdin = b.agentIs(argv[0], chatKeeper+"[ $n -ge 2 ] || {\n"+c.run+"\n}"), strings.NewReader("fix it")
			require.NoError(t, cmd.Start())
			b.until("it says why it waits", func() bool { return strings.Contains(b.logged(), "open: it is continued when that process ends") })
			holder, err := strconv.Atoi(strings.TrimSpace(b.read("holder")))
			require.NoError(t, err)
			require.Contains(t, b.logged(), fmt.Sprintf("process %d", holder))
			require.NoError(t, syscall.Kill(holder, syscall.SIGKILL))
			require.NoError(t, cmd.Wait(), b.logged())
			runs := strings.Split(strings.TrimSpace(b.read("args")), "\n")
			require.Len(t, runs, 2, "nothing was run beside it: %s", b.logged())
			words := strings.Fields(runs[0])
			require.Equal(t, strings.ReplaceAll(c.again, "ID", words[len(words)-1]), runs[1])
		})
	}
}

// goesOn writes what an agent writes when a person goes on with the session.
var goesOn = map[string]string{
	"claude": `f=$(echo $HOME/.claude/projects/*/*.jsonl); id=$(basename $f .jsonl)
echo '{"type":"user","sessionId":"'$id'","cwd":"'$PWD'","timestamp":"2026-11-15T00:16:30.000Z","uuid":"p","message":{"role":"user","content":"never mind"}}' >> $f`,
	"qwen": `f=$(echo $HOME/.qwen/projects/*/chats/*.jsonl); id=$(basename $f .jsonl)
echo '{"sessionId":"'$id'","uuid":"p","version":"0.24.4","cwd":"'$PWD'","timestamp":"2026-11-15T00:16:30.000Z","type":"user","message":{"role":"user","parts":[{"text":"never mind"}]}}' >> $f`,
	"gemini": `f=$(echo $HOME/.gemini/tmp/home/chats/*.jsonl)
echo '{"id":"9","timestamp":"2026-11-15T00:16:30.000Z","type":"user","content":[{"text":"never mind"}]}' >> $f`,
}

// A person has continued the session, and perhaps finished the task: exec neither continues it a
// second time nor starts the task again.
func TestExecEndsWhenAPersonWentOn(t *testing.T) {
	t.Parallel()
	const holds = `; sleep 300 >/dev/null 2>&1 </dev/null & mkdir -p $HOME/.claude/sessions
echo '{"pid":'$!',"sessionId":"'$id'","entrypoint":"cli","status":"busy"}' > $HOME/.claude/sessions/$!.json`
	claude := `id=; while [ $# -gt 0 ]; do [ $1 != --session-id ] || id=$2; shift; done
claudeTranscript $id task; echo "API Error: 529 Overloaded."; exit 1`
	for name, c := range map[string]struct{ run, person, argv, hint string }{
		"claude":                       {claude, goesOn["claude"], "claude -p task", "claude --resume "},
		"claude, and it is still open": {claude, goesOn["claude"] + holds, "claude -p task", "claude --resume "},
		"qwen":                         {"qwenChat " + ownID + ` task; echo "API Error: 529 Overloaded."; exit 1`, goesOn["qwen"], "qwen -p task", "qwen --resume " + ownID},
		"gemini":                       {"geminiChat " + ownID + " task; exit 247", goesOn["gemini"], "gemini -p task", "gemini --resume " + ownID},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
			argv := strings.Fields(c.argv)
			cmd := b.command(append([]string{"exec", "--policy", "slow", "--"}, argv...)...)
			cmd.Env = b.agentIs(argv[0], chatKeeper+c.run)
			require.NoError(t, cmd.Start())
			b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
			b.sh(c.person)
			_ = cmd.Wait()
			require.Equal(t, execrun.CodeGaveUp, cmd.ProcessState.ExitCode(), b.logged())
			require.Contains(t, b.logged(), "was continued without it")
			require.Contains(t, b.logged(), "Try: cd "+b.home+" && "+c.hint)
			require.Equal(t, 1, b.times())
		})
	}
}

func TestExecEndsWhenAPersonWentOnWithASessionOfOpencode(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	db := b.opencodeDB()
	said := func(n int, text string) {
		now := time.Now().UnixMilli()
		id := fmt.Sprint(n)
		db.exec("INSERT INTO message VALUES (?, ?, ?, ?, ?)", "msg_"+id, "ses_own", now, now, `{"role":"user"}`)
		db.exec("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", "prt_"+id, "msg_"+id, "ses_own", now, now, fmt.Sprintf(`{"type":"text","text":%q}`, text))
	}
	db.session("ses_own", "", b.home)
	said(1, "task")
	cmd := b.command("exec", "--policy", "slow", "--", "opencode", "run", "--format", "json", "task")
	cmd.Env = b.agentIs("opencode", `echo '{"type":"error","sessionID":"ses_own","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}'; exit 1`)
	require.NoError(t, cmd.Start())
	b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
	said(2, "never mind")
	_ = cmd.Wait()
	require.Equal(t, execrun.CodeGaveUp, cmd.ProcessState.ExitCode(), b.logged())
	require.Contains(t, b.logged(), "was continued without it")
	require.Equal(t, 1, b.times())
}

// only returns the only session of the daemon.
func (b *box) only() view.Session {
	status, err := b.daemon.Status(b.t.Context(), true)
	require.NoError(b.t, err)
	if len(status.Sessions) != 1 {
		return view.Session{}
	}
	return status.Sessions[0]
}

// What a person has cancelled is not continued by the daemon either.
func TestCtrlCOfExecCountsForTheDaemon(t *testing.T) {
	t.Parallel()
	works := strings.NewReplacer("-ge 2", "-ge 99", "exit 1\n", `trap 'exit 0' INT; touch works; while :; do sleep 0.05; done`).Replace(claudeWrites)
	waits := strings.ReplaceAll(claudeWrites, "-ge 2", "-ge 99")
	for name, c := range map[string]struct {
		script string
		before bool // the daemon runs already
		sig    syscall.Signal
		code   int
		state  resume.State
		why    string
	}{
		"while it waits":                         {waits, true, syscall.SIGINT, 130, resume.Watching, "cancelled by you"},
		"while it waits, before a daemon":        {waits, false, syscall.SIGINT, 130, resume.Watching, "cancelled by you"},
		"by Ctrl-\\":                             {waits, false, syscall.SIGQUIT, 131, resume.Watching, "cancelled by you"},
		"while the agent tries, before a daemon": {works, false, syscall.SIGINT, 0, resume.Watching, "cancelled by you"},
		"another program ended it":               {waits, false, syscall.SIGTERM, 143, resume.Parked, "resumed exec gave up on it: signal: terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``)+"[[agent]]\nname = \"claude-code\"\ncommand = \""+b.path("bin/claude")+"\"\n")
			env := b.agentIs("claude", c.script)
			if c.before {
				b.start()
			}
			cmd := b.command("exec", "--policy", "patient", "--", "claude", "-p", "fix it")
			cmd.Env = env
			require.NoError(t, cmd.Start())
			b.until("it waits", func() bool {
				return strings.Contains(b.logged(), "retry 1 of") || b.read("runs") != "" && exists(b.path("works"))
			})
			if c.before {
				b.until("the daemon knows of it", func() bool { return b.only().State == resume.Waiting })
			}
			require.NoError(t, cmd.Process.Signal(c.sig))
			_ = cmd.Wait()
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), b.logged())
			if !c.before {
				b.start()
			}
			b.until("the daemon leaves it alone", func() bool { return b.only().State == c.state && b.only().Reason != "" })
			require.Contains(t, b.only().Reason, c.why)
			require.Equal(t, 1, b.times())
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A program that reads the output gets one document, as from the agent itself.
func TestExecPrintsOneDocument(t *testing.T) {
	t.Parallel()
	doc := func(n string) string {
		return `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded ` + n + `","session_id":"` + ownID + `"}`
	}
	const last = `{"type":"result","is_error":false,"result":"done","session_id":"` + ownID + `"}`
	fails := `echo '` + doc("'$n'") + `'; echo beside >&2; exit 1`
	for name, c := range map[string]struct {
		script, argv string
		code         int
		stdout       string
	}{
		"claude":                   {`[ $n -ge 3 ] || { ` + fails + `; }; echo '` + last + `'`, "claude -p --output-format json task", 0, last + "\n"},
		"claude, joined":           {`[ $n -ge 2 ] || { ` + fails + `; }; echo '` + last + `'`, "claude -p --output-format=json task", 0, last + "\n"},
		"claude, retries run out":  {fails, "claude -p --output-format json task", 75, doc("3") + "\n"},
		"claude, and then nothing": {`[ $n -ge 2 ] || { ` + fails + `; }; exit 3`, "claude -p --output-format json task", 3, doc("1") + "\n"},
		"claude, as a stream":      {`[ $n -ge 2 ] || { ` + fails + `; }; echo '` + last + `'`, "claude -p --output-format stream-json --verbose task", 0, doc("1") + "\n" + last + "\n"},
		"qwen":                     {`[ $n -ge 2 ] || { echo '[` + doc("'$n'") + `]'; exit 1; }; echo '[` + last + `]'`, "qwen -p task -o json", 0, "[" + last + "]\n"},
		"gemini": {
			`[ $n -ge 2 ] || { echo '{"session_id":"` + ownID + `","error":{"type":"Error","message":"The model is overloaded."}}'; exit 247; }; echo '` + last + `'`,
			"gemini -p task --output-format json", 0, last + "\n",
		},
		"opencode, always a stream": {
			`[ $n -ge 2 ] || { echo '{"type":"error","sessionID":"ses_own","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}'; exit 1; }; echo '{"type":"text"}'`,
			"opencode run --format json task", 0, `{"type":"error","sessionID":"ses_own","error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429}}}` + "\n" + `{"type":"text"}` + "\n",
		},
		"codex, always a stream": {
			`[ $n -ge 2 ] || { echo '{"type":"thread.started","thread_id":"` + ownID + `"}'; echo '{"type":"turn.failed","error":{"message":"Selected model is at capacity. Please try a different model."}}'; exit 1; }; echo '{"type":"turn.completed"}'`,
			"codex exec --json task", 0, `{"type":"thread.started","thread_id":"` + ownID + `"}` + "\n" + `{"type":"turn.failed","error":{"message":"Selected model is at capacity. Please try a different model."}}` + "\n" + `{"type":"turn.completed"}` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
			argv := strings.Fields(c.argv)
			cmd := b.command(append([]string{"exec", "--"}, argv...)...)
			cmd.Env = b.agentIs(argv[0], c.script)
			out, _ := cmd.Output()
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), b.logged())
			require.Equal(t, c.stdout, string(out), b.logged())
		})
	}
}

// The document is complete also when the wait is cancelled, and when everything goes to one file.
func TestExecPrintsTheDocumentOfACancelledWait(t *testing.T) {
	b := newBox(t)
	b.write(configFile, quick)
	const doc = `{"type":"result","is_error":true,"api_error_status":500,"result":"API Error: 500 Internal server error","session_id":"` + ownID + `"}`
	env := b.agentIs("claude", `echo '`+doc+`'; echo beside >&2; exit 1`)
	both, err := os.Create(b.path("both"))
	require.NoError(t, err)
	defer both.Close()
	cmd := b.command("exec", "--policy", "patient", "--", "claude", "-p", "--output-format", "json", "task")
	cmd.Env, cmd.Stdout, cmd.Stderr = env, both, both
	require.NoError(t, cmd.Start())
	b.until("it waits", func() bool { return strings.Contains(b.read("both"), "retry 1 of") })
	require.NotContains(t, b.read("both"), doc)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Equal(t, 1, strings.Count(b.read("both"), doc), b.read("both"))
}
