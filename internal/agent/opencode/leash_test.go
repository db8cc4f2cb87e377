package opencode

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// began marks the session's process as seen.
func (s *stopped) began(o resume.Origin) {
	o.SeenAt = time.Now()
	s.session.Origin = &o
}

func (s *stopped) argv() []string {
	run := s.plan("continue").Run
	if len(run.Carried.Missing) > 0 {
		return nil // nothing is sent
	}
	return run.Argv[1:]
}

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	s := newStopped(t)
	plan := func(_ *testing.T, o resume.Origin) []string {
		s.began(o)
		return s.argv()
	}
	agenttest.Leash(t, processes.Flags, nil, plan)
	s.message("msg_0", "ses_1", time.Now().Add(-2*time.Minute), `{"role":"user","agent":"plan","model":{"providerID":"p","modelID":"a/b:free","variant":"high"}}`)
	require.Equal(t, "--agent plan --model p/a/b:free --variant high", strings.Join(s.argv()[5:11], " "))
	agenttest.Leash(t, processes.Flags, []string{"-m", "--model", "--agent", "--variant"}, plan)
}

// What was chosen in the session has precedence over its start; 1.2 records it only in messages.
func TestWhatTheLastPromptWasAskedWith(t *testing.T) {
	s := newStopped(t)
	s.began(resume.Origin{ArgsSeen: true, Args: []string{"-m", "old/one", "--agent", "build", "--variant=low", "--pure", "--auto"}})
	require.Equal(t, "run --session ses_1 --format json -m old/one --agent build --variant=low --pure --auto continue", strings.Join(s.argv(), " "))
	at := time.Now().Add(-2 * time.Minute)
	s.message("msg_0", "ses_1", at, `{"role":"user","agent":"plan","model":{"providerID":"new","modelID":"one"},"variant":"max"}`)
	s.message("msg_00", "ses_1", at.Add(-time.Minute), `{"role":"user","agent":"build","model":{"providerID":"old","modelID":"one"}}`)
	require.Equal(t, "run --session ses_1 --format json --agent plan --model new/one --variant max --pure --auto continue", strings.Join(s.argv(), " "))
	s.message("msg_0", "ses_1", at, `{"role":"user","agent":"--auto","model":{"providerID":"new","modelID":"--auto one"}}`)
	require.Equal(t, "run --session ses_1 --format json -m old/one --agent build --variant=low --pure --auto continue", strings.Join(s.argv(), " "))
}

func TestAnUnseenSessionIsAllowedNothingMore(t *testing.T) {
	s := newStopped(t)
	require.Equal(t, "run --session ses_1 --format json continue", strings.Join(s.argv(), " "))
	s.began(resume.Origin{}) // its arguments were not visible
	require.Equal(t, "run --session ses_1 --format json continue", strings.Join(s.argv(), " "))
}

func TestWhichKeysASessionNeeds(t *testing.T) {
	s := newStopped(t)
	agenttest.Write(t, filepath.Join(s.dir, "opencode.json"), `{"provider":{"x":{"options":{"apiKey":"{env:SHOP_AI_KEY}"}}}}`)
	spare := func(provider string) string {
		s.message("msg_0", "ses_1", time.Now().Add(-2*time.Minute), `{"role":"user","model":{"providerID":"`+provider+`","modelID":"m"}}`)
		does := s.plan("continue").Run.Optional
		if does == nil {
			return "nobody knows"
		}
		var names []string
		for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SHOP_AI_KEY", "OPENCODE_PERMISSION", "HTTPS_PROXY"} {
			if does(name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	require.Equal(t, "OPENAI_API_KEY AWS_SECRET_ACCESS_KEY", spare("anthropic"))
	require.Equal(t, "ANTHROPIC_API_KEY OPENAI_API_KEY", spare("amazon-bedrock"))
	require.Equal(t, "nobody knows", spare("fake"))
}

func TestVariablesThatTheConfigurationNames(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	agenttest.Write(t, filepath.Join(home, "opencode/opencode.jsonc"), `{"apiKey":"{env:MY_OWN}" /* {file:x} */ }`)
	agenttest.Write(t, filepath.Join(project, "opencode.json"), `{"baseURL":"{env:SHOP_URL}"}`)
	a := newAgent(t, agent.Options{})
	require.True(t, a.Variables().Has("MY_OWN"))
	require.False(t, a.Variables().Has("EDITOR"))
	require.True(t, leash.Variables{agent.VariablesIn(reference(), openCode.configsOf(project)...)}.Has("SHOP_URL"))
}

// A process that only shows a server's sessions does not decide their origin: the server does.
func TestWhoseStartCounts(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ line, server string }{
		"a terminal at a server": {"attach http://127.0.0.1:4096 --dir /src", "http://127.0.0.1:4096"},
		"a run at a server":      {"run --attach http://h:1 fix it", "http://h:1"},
		"a run of its own":       {"run attach", ""},
		"a terminal of its own":  {"--model a/b", ""},
		"a server":               {"serve --port 4096", ""},
	} {
		require.Equal(t, c.server, processes.AttachedTo(strings.Fields(c.line)), rule)
	}
	require.True(t, processes.IsServer(strings.Fields("--print-logs serve --port 1")))
	require.False(t, processes.IsServer(strings.Fields("run serve")))
}

func TestAServerHoldsSessionsOfAnyDirectory(t *testing.T) {
	t.Parallel()
	const dir, db = "/src/app", "/data/opencode/opencode.db"
	server := procDir{pid: 7, argv: []string{"opencode", "serve"}, cwd: "/home/u", open: []string{db}}
	session := resume.Session{Key: resume.Key{Agent: Name, ID: "ses_1"}, Cwd: dir, Transcript: db, Kind: resume.Interactive}
	a := newAgent(t, agent.Options{})
	owner := func(s resume.Session, all ...procDir) *resume.Owner {
		a.Processes = fakeProc(t, all...)
		found, err := a.Owner(t.Context(), s)
		require.NoError(t, err)
		return found
	}
	held := &resume.Owner{PID: 7, Kind: "headless"}
	require.Equal(t, held, owner(session, server))
	terminal := procDir{pid: 8, argv: []string{"opencode"}, cwd: dir, open: []string{db}}
	require.Equal(t, &resume.Owner{PID: 8, Kind: "interactive"}, owner(session, server, terminal), "somebody nearer")
	attached := procDir{pid: 9, argv: []string{"opencode", "attach", "http://127.0.0.1:4096"}, cwd: dir}
	require.Equal(t, &resume.Owner{PID: 9, Kind: "interactive"}, owner(session, server, attached), "what shows it is nearer")
	server.cwd = dir
	require.Equal(t, held, owner(session, server, attached), "and holds nothing")
	server.cwd = "/home/u"
	elsewhere := server
	elsewhere.open = []string{"/other/opencode.db"}
	require.Nil(t, owner(session, elsewhere))
	run := session
	run.Kind = resume.Headless
	require.Nil(t, owner(run, server), "opencode run began it")
	run.Origin = &resume.Origin{Server: true, SeenAt: time.Now()}
	require.Equal(t, held, owner(run, server), "at the server")
	session.Origin = &resume.Origin{SeenAt: time.Now()}
	require.Nil(t, owner(session, server), "another process had it")
}
