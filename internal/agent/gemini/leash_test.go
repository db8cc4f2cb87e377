package gemini

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// arguments returns those that continue the session if its process was seen to start like this.
func (sc *scene) arguments(t *testing.T, o resume.Origin) []string {
	o.SeenAt = time.Now()
	sc.session.Origin = &o
	plan := sc.plan(t, "continue")
	require.NotNil(t, plan.Run, "%+v", plan.Skip)
	if len(plan.Run.Carried.Missing) > 0 {
		return nil // nothing is sent
	}
	return plan.Run.Argv[1:]
}

func TestAResumeLacksNoRestrictionAndHasNoGrantOfItsOwn(t *testing.T) {
	sc := newScene(t, halted()...)
	agenttest.Leash(t, flags, []string{"-m", "--model"}, sc.arguments)
	silent := newScene(t, asked("u1", "first", time.Second), overloaded(time.Minute))
	agenttest.Leash(t, flags, nil, silent.arguments)
}

func TestASessionGoesOnAsItWasStarted(t *testing.T) {
	for line, want := range map[string]string{
		"-m old -yp fix":                              "--model gemini-2.5-pro -y",
		"--approval-mode plan -s":                     "--model gemini-2.5-pro --approval-mode plan -s",
		"--yolo false --no-sandbox":                   "--model gemini-2.5-pro --yolo false --no-sandbox",
		"-i fix --policy p.toml -e none -r latest":    "--model gemini-2.5-pro --policy /src/p.toml -e none",
		"--debug -o json --session-id=x -w wt prompt": "--model gemini-2.5-pro",
	} {
		sc := newScene(t, halted()...)
		got := sc.arguments(t, resume.Origin{Cwd: "/src", Args: flags.Storable(strings.Fields(line), false), ArgsSeen: true})
		require.Equal(t, "--resume "+sessionA+" "+want+" -p continue", strings.Join(got, " "), line)
	}
	sc := newScene(t, halted()...)
	require.Equal(t, "--resume "+sessionA+" --model gemini-2.5-pro -p continue", strings.Join(sc.arguments(t, resume.Origin{Args: []string{"-y"}}), " "),
		"what is not known for certain is not known")
}

// Settings choose the mode of a start without a flag: those of that time, not those that came later.
func TestSettingsThatCameLaterDoNotWiden(t *testing.T) {
	for rule, c := range map[string]struct{ line, before, later, want, mode string }{
		"nothing was set":                   {"", "", "", "", "default"},
		"they came later":                   {"", "", `{"general":{"defaultApprovalMode":"auto_edit"}}`, "--approval-mode default ", "default"},
		"with a comment":                    {"--yolo false", "", "{/* x */\n\"general\":{\"defaultApprovalMode\":\"yolo\"}}", "--approval-mode default ", "default"},
		"they were there":                   {"", `{"tools":{"approvalMode":"auto_edit"}}`, "", "", "auto_edit"},
		"they allow less by now":            {"", `{"tools":{"approvalMode":"auto_edit"}}`, `{"tools":{"approvalMode":"plan"}}`, "", "plan"},
		"a mode that nobody knows":          {"", "", `{"tools":{"approvalMode":"new"}}`, "--approval-mode default ", "default"},
		"a flag outdoes them":               {"--approval-mode plan", "", `{"tools":{"approvalMode":"yolo"}}`, "--approval-mode plan ", "plan"},
		"a flag that allows all outdoes it": {"-y", "", `{"tools":{"approvalMode":"plan"}}`, "-y ", "yolo"},
	} {
		t.Run(rule, func(t *testing.T) {
			sc, dir := newScene(t, halted()...), t.TempDir()
			settings := filepath.Join(dir, homeName, "settings.json")
			o := resume.Origin{Cwd: dir, Args: strings.Fields(c.line), ArgsSeen: true}
			agenttest.Write(t, settings, c.before)
			o.Settings = sc.agent.SettingsAt(o)
			if c.later != "" {
				agenttest.Write(t, settings, c.later)
			}
			got := strings.Join(sc.arguments(t, o), " ")
			require.Equal(t, "--resume "+sessionA+" --model gemini-2.5-pro "+c.want+"-p continue", strings.Replace(got, "--yolo false ", "", 1))
			require.Equal(t, c.mode, sc.plan(t, "continue").Run.Permission.Mode)
		})
	}
}

// A signed-in session needs no key, whatever the shell had.
func TestWhichKeysASessionNeeds(t *testing.T) {
	sc := newScene(t, halted()...)
	require.Nil(t, sc.plan(t, "continue").Run.Optional)
	settings := filepath.Join(sc.agent.Homes.Usual, "settings.json")
	agenttest.Write(t, settings, `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
	require.Nil(t, sc.plan(t, "continue").Run.Optional)
	agenttest.Write(t, settings, `{"security":{"auth":{"selectedType":"oauth-personal"}}}`)
	spare := sc.plan(t, "continue").Run.Optional
	require.True(t, spare("GEMINI_API_KEY"))
	require.False(t, spare("GOOGLE_CLOUD_PROJECT"))
	require.False(t, spare("GEMINI_SANDBOX"))
}
