package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// codexLeash are sessions of Codex with a leash of their own. Its user's
// configuration allows everything.
func codexLeash() []situation {
	return []situation{
		noVariables, noSearch, ownSandbox, bypassed,
		tooEarly(codexLimit, words("codex", "exec", "--skip-git-repo-check", "--yolo")), sameWorld(codexLimit, words("codex", "exec", "--skip-git-repo-check", "--yolo")),
		ownKey("a key of its own, which nobody knows any more", false), ownKey("a key of its own", true),
		ownProvider,
		toldTarget("codex", "exec", "--skip-git-repo-check"), parkedVariable("codex", "exec", "--skip-git-repo-check"),
		hidden(codexLimit, false, words("codex", "exec", "--skip-git-repo-check")),
		hidden(codexLimit, true, words("codex", "exec", "--skip-git-repo-check")),
		shellEarly(codexLimit, "codex", "-s", "read-only", "-c", "hide_agent_reasoning=true"),
	}
}

var codexLimit = agenttest.UsageLimit(8 * time.Second)

// codex is a command line of Codex without a terminal.
func (b *box) codex(flags ...string) []string {
	argv := append([]string{filepath.Join(b.bin, "codex"), "exec", "--skip-git-repo-check"}, flags...)
	return append(argv, prompt)
}

// leashed plays a session that is given a command, is stopped by a limit, is
// continued and given another one, and returns when all of that is over.
func (b *box) leashed(row *result, first, second string, argv ...string) view.Session {
	b.t.Helper()
	row.provider = string(codexLimit.Kind())
	b.start(b.config())
	b.provider.Script(agenttest.Tool(first), codexLimit.Thinking(thought))
	b.provider.Upon("continue", agenttest.Tool(second), agenttest.Text("I did what I may."))
	process := b.launch(argv...)
	s := b.untilState(resume.Waiting, resume.Resuming)
	row.said = saw(s)
	require.True(b.t, s.Started.Seen, "its command line was seen")
	process.wait(b.t)
	before := b.refused()
	b.until("it was continued, and told what became of it", func() bool { return len(b.provider.Requests()) >= len(before)+2 })
	return b.untilState(resume.Watching, resume.Parked)
}

var noVariables = situation{"commands without the user's variables", func(t *testing.T, b *box, row *result) {
	const tell = `/bin/echo "${FAKE_KEY:-none}" >> work.txt`
	b.leashed(row, tell, tell, b.codex("-c", `shell_environment_policy.inherit="none"`)...)
	require.Equal(t, "none none", b.done())
	row.did, row.outcome = "continued once with what it was started with", "refused again"
}}

var noSearch = situation{"without the tool that searches", func(t *testing.T, b *box, row *result) {
	heard := b.listen()
	b.leashed(row, "echo one >> work.txt", "echo two >> work.txt", b.codex("-c", `web_search="disabled"`)...)
	require.Equal(t, "one two", b.done())
	for _, ask := range heard.all() {
		require.NotEmpty(t, ask.tools)
		require.NotContains(t, ask.tools, "web_search")
	}
	row.did, row.outcome = "continued once with what it was started with", "refused again"
}}

var ownSandbox = situation{"a sandbox of its own", func(t *testing.T, b *box, row *result) {
	b.leashed(row, "echo one >> work.txt", "echo two >> work.txt", b.codex("-s", "read-only")...)
	s := b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "was refused permission to use ")
	require.Empty(t, b.done())
	row.did, row.outcome = "continued once in its sandbox, parked it", "refused again"
}}

// bypassed is a session without a sandbox by its own flag, where the user's
// configuration has one: it was seen, and goes on as it was.
var bypassed = situation{"no sandbox by a flag", func(t *testing.T, b *box, row *result) {
	b.kit.ask(b)
	b.leashed(row, "echo one >> work.txt", "echo two >> work.txt", b.codex("--yolo")...)
	require.Equal(t, "one two", b.done())
	row.did, row.outcome = "continued once with what it was started with", "finished"
}}

// ownKey is a session with a key of its own, while the daemon has another one.
func ownKey(name string, known bool) situation {
	return situation{name, func(t *testing.T, b *box, row *result) {
		const mine, others = "sk-mine-0000000000000000", "sk-others-000000000000000"
		b.extra = append(b.extra, "FAKE_KEY="+others, "CODEX_API_KEY="+others, "OPENAI_API_KEY="+others)
		heard := b.listen()
		row.provider = string(codexLimit.Kind())
		b.start(b.config())
		b.hold(!known)
		b.provider.Script(b.step("one"), codexLimit.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		shell := []string{"/usr/bin/env", "-u", "CODEX_API_KEY", "-u", "OPENAI_API_KEY", "FAKE_KEY=" + mine}
		process := b.launch(append(shell, b.codex()...)...)
		s := b.untilState(resume.Waiting, resume.Parked)
		row.said = saw(s)
		process.wait(t)
		if known {
			b.finished(s, b.refused(), 1, once)
			row.did, row.outcome = "continued once with its own key", "finished"
		} else {
			b.restart()
			b.hold(false)
			s = b.untilState(resume.Parked)
			require.Contains(t, s.Reason, "FAKE_KEY: another account would be used")
			b.mustStayQuiet(b.refused(), 0)
			row.did, row.outcome = "parked it", "left to a person"
		}
		for _, ask := range heard.all() {
			require.Equal(t, "Bearer "+mine, ask.key)
		}
		kept, err := exec.Command("grep", "-rl", mine, b.path(".local", "state", "resumed")).CombinedOutput()
		require.Error(t, err, "it is kept: %s", kept)
		status, err := b.ask("status", "--json")
		require.NoError(t, err)
		require.NotContains(t, string(status), mine)
		require.NotContains(t, b.log.String(), mine)
	}}
}

// ownProvider is a session that asks where its command line says, while the user's
// configuration has another place for the same provider.
var ownProvider = situation{"a provider of its own", func(t *testing.T, b *box, row *result) {
	usual := agenttest.NewServer(t)
	b.change(".codex/config.toml", b.provider.URL, usual.URL)
	b.leashed(row, "echo one >> work.txt", "echo two >> work.txt", b.codex("-c", fmt.Sprintf("model_providers.fake.base_url=%q", b.provider.URL+"/v1"))...)
	require.Equal(t, "one two", b.done())
	require.Empty(t, usual.Requests(), "nobody else was asked")
	row.did, row.outcome = "continued once with its own provider", "finished"
}}

// listener stands before the provider and hears in whose name it is asked, and what
// the model may call.
type listener struct {
	mu    sync.Mutex
	heard []asked // guarded by mu
}

type asked struct {
	key   string
	tools []string
}

// listen puts a listener before the provider.
func (b *box) listen() *listener {
	b.t.Helper()
	target, err := url.Parse(b.provider.URL)
	require.NoError(b.t, err)
	l := &listener{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off is no request
		var in struct{ Tools []struct{ Name, Type string } }
		if json.Unmarshal(body, &in) == nil && strings.HasSuffix(r.URL.Path, "/responses") {
			l.hear(r.Header.Get("Authorization"), in.Tools)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	b.t.Cleanup(server.Close)
	b.change(".codex/config.toml", b.provider.URL, server.URL)
	return l
}

func (l *listener) hear(key string, tools []struct{ Name, Type string }) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := asked{key: key}
	for _, tool := range tools {
		a.tools = append(a.tools, tool.Name, tool.Type)
	}
	l.heard = append(l.heard, a)
}

func (l *listener) all() []asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

// TestEveryFlagOfCodexIsKnown looks whether the table has every flag that the
// program tells of, and whether it has values there as it has here.
func TestEveryFlagOfCodexIsKnown(t *testing.T) {
	if !wanted("codex") {
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	table := flagsOf(t, "codex")
	for _, version := range []string{"0.144.6", "0.166.0"} {
		k := codex(version)
		t.Run(version, func(t *testing.T) {
			bin, _ := install(t, k)
			b := newBox(t, k, bin)
			for _, command := range []string{"", "exec", "resume", "fork", "review", "exec resume", "exec review"} {
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), append(strings.Fields(command), "--help")...)
				cmd.Env, cmd.Dir = b.env(), b.work
				out, err := cmd.Output()
				require.NoError(t, err, string(out))
				found := clapFlag.FindAllStringSubmatch(string(out), -1)
				require.Greater(t, len(found), 5, "the help of codex %s is read", command)
				for _, f := range found {
					for name := range strings.SplitSeq(f[1], ", ") {
						require.NotZero(t, table.Takes(name), "%s of codex %s %s is in no table", name, command, version)
						if name != "-i" && name != "--image" { // several in some places, one in others
							require.Equal(t, clapTakes(f[2]), table.Takes(name), "%s of codex %s %s", name, command, version)
						}
					}
				}
			}
		})
	}
}

// clapFlag is a line of a help: the names of a flag, and its value.
var clapFlag = regexp.MustCompile(`(?m)^ {2,6}((?:-\w, )?--[\w-]+)(?: (<[^>]+>(?:\.\.\.)?))?\s*$`)

func clapTakes(value string) leash.Takes {
	switch {
	case strings.HasSuffix(value, "..."):
		return leash.Many
	case value != "":
		return leash.One
	default:
		return leash.Alone
	}
}
