package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

const (
	armedNotice     = claudetest.Armed
	firedNotice     = "Usage limit reset · Continuing automatically"
	cancelledNotice = "Automatic continue cancelled · /rate-limit-options to re-arm"
	staleNotice     = "Usage limit has reset · Press enter to continue"
)

type procDir = claudetest.Process

var fakeProc, register, registered = claudetest.Processes, claudetest.Register, claudetest.Registered

// talk returns the plan for a session held by a registered process that began at that time.
func (sc scene) talk(t *testing.T, status string, began time.Time, more ...procDir) agent.Plan {
	sc.agent.Processes = fakeProc(t, append(more, procDir{PID: 7, Argv: []string{"claude"}, Start: "100"})...)
	register(t, sc.agent.Homes.Roots[0], "7.json", fmt.Sprintf(
		`{"pid":7,"sessionId":%q,"procStart":"100","startedAt":%d,"entrypoint":"cli","status":%q}`,
		sessionA, began.UnixMilli(), status))
	return sc.talkTo(t, resume.Owner{PID: 7, Kind: "interactive"}, "continue")
}

func (sc scene) talkTo(t *testing.T, owner resume.Owner, prompt string) agent.Plan {
	plan, err := sc.agent.PlanLive(t.Context(), sc.session, owner, prompt)
	require.NoError(t, err)
	require.Nil(t, plan.Run, "a session that is held is never resumed beside its holder")
	require.True(t, (plan.Type == nil) != (plan.Skip == nil), "exactly one field is set")
	return plan
}

func TestClaudeCodesOwnContinuationGoesFirst(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	type notices = []any
	for rule, c := range map[string]struct {
		reset   time.Time
		began   time.Time
		notices notices
		until   time.Time // zero: it is typed
		why     string
	}{
		"never armed": {ago(time.Minute), ago(time.Hour), nil, time.Time{}, ""},
		"armed, the limit has just reset": {
			ago(time.Minute), ago(time.Hour),
			notices{noticed(ago(30*time.Minute), armedNotice)},
			ago(time.Minute).Add(transcript.Patience), "continues by itself",
		},
		"armed, the limit is to reset": {
			now.Add(time.Hour), ago(time.Hour),
			notices{noticed(ago(30*time.Minute), armedNotice)},
			now.Add(time.Hour).Add(transcript.Patience), "continues by itself",
		},
		"armed again": {
			ago(time.Minute), ago(time.Hour),
			notices{noticed(ago(9*time.Minute), strings.Replace(armedNotice, "reached", "reached again", 1))},
			ago(time.Minute).Add(transcript.Patience), "continues by itself",
		},
		"armed, and nothing came of it": {
			ago(6 * time.Minute), ago(time.Hour), notices{noticed(ago(30*time.Minute), armedNotice)}, time.Time{}, "",
		},
		"armed by a process that died": {
			ago(time.Minute), ago(5 * time.Minute), notices{noticed(ago(30*time.Minute), armedNotice)}, time.Time{}, "",
		},
		"fired a moment ago": {
			ago(2 * time.Minute), ago(time.Hour),
			notices{noticed(ago(30*time.Minute), armedNotice), noticed(ago(time.Minute), firedNotice)},
			ago(time.Minute).Add(transcript.Patience), "continues by itself",
		},
		"fired, and nothing came of it": {
			ago(20 * time.Minute), ago(time.Hour),
			notices{noticed(ago(30*time.Minute), armedNotice), noticed(ago(19*time.Minute), firedNotice)},
			time.Time{},
			"",
		},
		"stale after a sleep": {
			ago(time.Minute), ago(time.Hour),
			notices{noticed(ago(30*time.Minute), armedNotice), noticed(ago(time.Minute), staleNotice)},
			time.Time{},
			"",
		},
		"another notice": {
			ago(time.Minute), ago(time.Hour), notices{noticed(ago(time.Minute), "Opus' safeguards stopped the response above")}, time.Time{}, "",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), outOfQuota(ago(40*time.Minute), c.reset))
			sc.session.Limit.Reset = limit.Reset{At: time.Unix(c.reset.Unix(), 0), Source: limit.Structured}
			sc.write(t, c.notices...)
			plan := sc.talk(t, "idle", c.began)
			if c.until.IsZero() {
				require.NotNil(t, plan.Type, "%+v", plan.Skip)
				require.Equal(t, resume.Process{PID: 7, Start: 100}, plan.Type.Process)
				require.Equal(t, "continue", plan.Type.Text)
				return
			}
			require.NotNil(t, plan.Skip)
			require.Contains(t, plan.Skip.Why, c.why)
			require.False(t, plan.Skip.Park)
			require.WithinDuration(t, c.until, plan.Skip.Until, 2*time.Second)
		})
	}
}

func TestANoticeBeforeTheLastRefusalIsOver(t *testing.T) {
	now := time.Now()
	sc := newScene(t, asked(nil, "work"), outOfQuota(now.Add(-time.Hour), now), noticed(now.Add(-time.Hour), armedNotice),
		asked(nil, "and this"), overload())
	require.NotNil(t, sc.talk(t, "idle", now.Add(-2*time.Hour)).Type)
}

func TestALiveSessionIsLeftAloneWhere(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	other := procDir{PID: 8, Argv: []string{"claude"}, Start: "200"}
	for why, c := range map[string]struct {
		park bool
		plan func(*testing.T, scene) agent.Plan
	}{
		"works on the session": {false, func(t *testing.T, sc scene) agent.Plan { return sc.talk(t, "busy", began) }},
		"interrupted by the user": {false, func(t *testing.T, sc scene) agent.Plan {
			sc.write(t, noticed(time.Now(), cancelledNotice))
			return sc.talk(t, "idle", began)
		}},
		"a newer prompt": {false, func(t *testing.T, sc scene) agent.Plan {
			sc.write(t, asked(nil, "never mind"))
			return sc.talk(t, "idle", began)
		}},
		"moved on": {false, func(t *testing.T, sc scene) agent.Plan {
			sc.write(t, answered(nil))
			return sc.talk(t, "idle", began)
		}},
		"without a terminal, and is waited for": {false, func(t *testing.T, sc scene) agent.Plan {
			return sc.talkTo(t, resume.Owner{PID: 7, Kind: "headless"}, "continue")
		}},
		"does not say which session": {true, func(t *testing.T, sc scene) agent.Plan {
			sc.agent.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"claude"}, Start: "100"})
			return sc.talkTo(t, resume.Owner{PID: 7, Kind: "interactive"}, "continue")
		}},
		"process 8 lives in": {false, func(t *testing.T, sc scene) agent.Plan {
			sc.agent.Processes = fakeProc(t, procDir{PID: 8, Argv: []string{"claude"}, Start: "1000"})
			require.NoError(t, os.WriteFile(filepath.Join(string(sc.agent.Processes.FS), "uptime"), []byte("15.03 29.9\n"), 0o600))
			return sc.talkTo(t, resume.Owner{PID: 8, Kind: "interactive"}, "continue") // it began five seconds ago
		}},
		"2 live processes hold": {true, func(t *testing.T, sc scene) agent.Plan {
			register(t, sc.agent.Homes.Roots[0], "8.json", registered(8, sessionA, "200", ""))
			return sc.talk(t, "idle", began, other)
		}},
		"transcript is gone": {true, func(t *testing.T, sc scene) agent.Plan {
			require.NoError(t, os.Remove(sc.session.Transcript))
			return sc.talk(t, "idle", began)
		}},
	} {
		t.Run(why, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			plan := c.plan(t, sc)
			require.NotNil(t, plan.Skip)
			require.Contains(t, plan.Skip.Why, why)
			require.Equal(t, c.park, plan.Skip.Park)
		})
	}
}

func TestOnlyAPlainPromptIsTyped(t *testing.T) {
	for prompt, want := range map[string]string{
		"continue":                  "",
		"go on;":                    "",
		"weiter, bitte ünd schnell": "",
		"":                          "is empty",
		" \n ":                      "is empty",
		"/compact":                  "begins with",
		"!rm -rf":                   "begins with",
		"# note":                    "begins with",
		"& in the cloud":            "begins with",
		"@main.go goes on":          "begins with",
		"go\x1bon":                  "cannot be typed",
		strings.Repeat("go ", 200):  "longer than",
	} {
		t.Run(prompt, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			sc.talk(t, "idle", time.Now())
			plan := sc.talkTo(t, resume.Owner{PID: 7, Kind: "interactive"}, prompt)
			if want == "" {
				require.Equal(t, prompt, plan.Type.Text)
				return
			}
			require.NotNil(t, plan.Skip)
			require.Contains(t, plan.Skip.Why, want)
			require.True(t, plan.Skip.Park)
		})
	}
	sc := newScene(t, asked(nil, "work"), overload())
	sc.talk(t, "idle", time.Now())
	plan := sc.talkTo(t, resume.Owner{PID: 7, Kind: "interactive"}, "go on,\n  please\n")
	require.Equal(t, "go on, please", plan.Type.Text, "a line break would send half of it")
}

// An editor or a desktop app has no terminal to type into, although a person is there.
func TestAnAppIsNotTypedInto(t *testing.T) {
	for entrypoint, app := range map[string]string{"cli": "", "claude-vscode": "VS Code", "claude-desktop": "Claude Desktop"} {
		t.Run(entrypoint, func(t *testing.T) {
			sc := newScene(t, asked(nil, "work"), overload())
			sc.agent.Processes = fakeProc(t, procDir{PID: 7, Argv: []string{"claude"}, Start: "100"})
			register(t, sc.agent.Homes.Roots[0], "7.json", registered(7, sessionA, "100", fmt.Sprintf(`,"status":"idle","entrypoint":%q`, entrypoint)))
			owner, err := sc.agent.Owner(t.Context(), sc.session)
			require.NoError(t, err)
			require.Equal(t, &resume.Owner{PID: 7, Kind: resume.Interactive, App: app}, owner)
			plan, err := sc.agent.PlanLive(t.Context(), sc.session, *owner, "continue")
			require.NoError(t, err)
			if app == "" {
				require.NotNil(t, plan.Type)
				return
			}
			require.Equal(t, agent.Plan{}, plan, "nothing reaches it")
		})
	}
}

func captureOf(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", "screens", name+".txt"))
	require.NoError(t, err)
	return string(data)
}

// The status is read again for every screen: it may have changed since the plan.
func TestTheJudgementFollowsTheProcess(t *testing.T) {
	sc := newScene(t, asked(nil, "work"), overload())
	sc.session.LimitText = "API Error: 529 Overloaded."
	typing := sc.talk(t, "idle", time.Now()).Type
	screen := captureOf(t, "529-final")
	require.Equal(t, agent.ScreenState{}, typing.Judge(screen))
	sc.talk(t, "busy", time.Now())
	require.Contains(t, typing.Judge(screen).Skip.Why, "works")
	register(t, sc.agent.Homes.Roots[0], "7.json", registered(7, "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c002", "100", `,"status":"idle"`))
	require.Contains(t, typing.Judge(screen).Skip.Why, "let go")
}

// In vim's NORMAL mode letters are commands, and no screen shows it: the settings say that vim is
// on, and the screen shows INSERT.
func TestNothingIsTypedInVimsNormalMode(t *testing.T) {
	const vim, plain = `{"editorMode":"vim"}`, `{"editorMode":"normal"}`
	for rule, c := range map[string]struct {
		user, project, local, config string
		screen                       string
		typed                        bool
	}{
		"no word of vim":                         {screen: "vim-normal", typed: true},
		"the user's settings, NORMAL":            {user: vim, screen: "vim-normal"},
		"the user's settings, INSERT":            {user: vim, screen: "vim-insert", typed: true},
		"the program's own configuration":        {config: vim, screen: "vim-normal"},
		"an older version":                       {config: vim, screen: "v197-vim-normal"},
		"an older version, INSERT":               {config: vim, screen: "v197-vim-insert", typed: true},
		"the project's settings":                 {project: vim, screen: "vim-normal"},
		"the project's settings win":             {project: plain, user: vim, screen: "vim-normal", typed: true},
		"the user's settings of the project win": {local: vim, project: plain, screen: "vim-normal"},
		"settings that cannot be read":           {user: "{", config: vim, screen: "vim-normal"},
		"INSERT is shown and nobody knows why":   {screen: "vim-insert", typed: true},
	} {
		t.Run(rule, func(t *testing.T) {
			text := "API Error: 529 Overloaded. This is a server-side issue, usually temporary"
			sc := newScene(t, refused(map[string]any{"error": "server_error", "apiErrorStatus": 529}, text))
			sc.session.LimitText = text
			home := sc.agent.Homes.Roots[0]
			for path, content := range map[string]string{
				filepath.Join(home, "settings.json"): c.user, home + ".json": c.config,
				filepath.Join(sc.session.Cwd, ".claude", "settings.json"):       c.project,
				filepath.Join(sc.session.Cwd, ".claude", "settings.local.json"): c.local,
			} {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			}
			plan := sc.talk(t, "idle", time.Now().Add(-time.Hour))
			require.NotNil(t, plan.Type)
			sight := plan.Type.Judge(captureOf(t, c.screen))
			if c.typed {
				require.Equal(t, agent.ScreenState{}, sight)
				return
			}
			require.NotNil(t, sight.Skip)
			require.Contains(t, sight.Skip.Why, "vim's NORMAL mode")
			require.True(t, sight.Skip.Tell && !sight.Skip.Park && !sight.Strange, "it is told once, and typed when i was pressed")
		})
	}
}
