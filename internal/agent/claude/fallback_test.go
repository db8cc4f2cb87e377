package claude

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// fellOver is what Claude Code writes when another model continues a turn.
func fellOver(from, to string) map[string]any {
	r := base(map[string]any{"originalModel": from, "fallbackModel": to, "trigger": "overloaded", "content": "Switched to " + to})
	r["type"], r["subtype"] = "system", "model_fallback"
	return r
}

// by is an answer of that model.
func by(model string) map[string]any { return answered(map[string]any{"requestedModel": model}) }

// inTheMiddle is a session with that model that an overload stopped.
func inTheMiddle(t *testing.T) scene {
	sc := newScene(t, asked(map[string]any{"permissionMode": "default"}, "work"), by("claude-opus-5-5"), overload())
	sc.agent.fallback = "sonnet"
	sc.session.Limit.Class = limit.Overloaded
	return sc
}

func TestAnotherModelIsForAnOverloadAlone(t *testing.T) {
	sc := inTheMiddle(t)
	run := sc.plan(t, "continue").Run
	require.Equal(t, []string{"--model", "claude-opus-5-5", "--fallback-model", "sonnet", "continue"}, run.Argv[len(run.Argv)-5:])
	require.Equal(t, resume.Models{Own: "claude-opus-5-5", Fallback: "sonnet"}, run.Models)

	for _, class := range limit.Classes() {
		if class == limit.Overloaded {
			continue
		}
		sc.session.Limit.Class = class
		run := sc.plan(t, "continue").Run
		require.NotContains(t, run.Argv, "--fallback-model", "that would go round a %s", class)
		require.Zero(t, run.Models)
	}
}

func TestAnotherModelIsNotNamedWhere(t *testing.T) {
	for why, spoil := range map[string]func(*testing.T, *scene){
		"nobody wrote it down":             func(_ *testing.T, sc *scene) { sc.agent.fallback = "" },
		"it is the session's own":          func(_ *testing.T, sc *scene) { sc.agent.fallback = "claude-opus-5-5" },
		"the session was started with one": func(_ *testing.T, sc *scene) { sc.startedWith("--fallback-model", "haiku") },
	} {
		t.Run(why, func(t *testing.T) {
			sc := inTheMiddle(t)
			spoil(t, &sc)
			run := sc.plan(t, "continue").Run
			require.Zero(t, run.Models)
			require.NotContains(t, run.Argv, "sonnet")
			require.Equal(t, sc.session.Origin != nil, slices.Contains(run.Argv, "--fallback-model"), "its own flag is repeated")
			require.Empty(t, run.Carried.LeftOut)
		})
	}
}

// Claude Code 2.1.197 records neither the requested model nor the switch to another one: a
// session would stay with the other model forever.
func TestAVersionThatDoesNotRecordItsModelStaysWithIt(t *testing.T) {
	sc := newScene(t, asked(map[string]any{"permissionMode": "default"}, "work"), answered(nil), overload())
	sc.agent.fallback, sc.session.Limit.Class = "sonnet", limit.Overloaded
	run := sc.plan(t, "continue").Run
	require.NotContains(t, run.Argv, "--fallback-model")
	require.Equal(t, []string{
		"fallback_model: the transcript does not record which model the session uses, so that it could not go back to it",
	}, leash.Describe(run.Carried.LeftOut))
}

func TestASessionGoesBackToItsOwnModel(t *testing.T) {
	prompt := func() map[string]any { return asked(map[string]any{"permissionMode": "default"}, "continue") }
	for rule, c := range map[string]struct {
		records []any
		want    string
	}{
		"after a turn that another model took over": {
			[]any{prompt(), by("opus"), prompt(), fellOver("opus", "sonnet"), by("sonnet"), by("sonnet"), overload()}, "opus",
		},
		"after several that took over from each other": {
			[]any{prompt(), fellOver("opus", "sonnet"), by("sonnet"), fellOver("sonnet", "haiku"), by("haiku"), overload()}, "opus",
		},
		"also where a resume came to nothing since": {
			[]any{prompt(), fellOver("opus", "sonnet"), by("sonnet"), overload(), prompt(), overload()}, "opus",
		},
		"but not to the one of a turn before": {
			[]any{prompt(), fellOver("opus", "sonnet"), by("sonnet"), prompt(), by("sonnet"), overload()}, "sonnet",
		},
		"and not because of a model that did not answer": {
			[]any{prompt(), by("opus"), fellOver("opus", "sonnet"), overload()}, "opus",
		},
		"nor because of one that another turn had": {
			[]any{prompt(), by("sonnet"), prompt(), fellOver("opus", "haiku"), by("sonnet"), overload()}, "sonnet",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			argv := newScene(t, c.records...).plan(t, "continue").Run.Argv
			require.Equal(t, c.want, argv[slices.Index(argv, "--model")+1])
		})
	}
}

func TestMovementTellsWhichModelSpoke(t *testing.T) {
	sc := inTheMiddle(t)
	line := lines.Line{Path: sc.session.Transcript, Data: encode(t, by("claude-sonnet-5-5"))}
	seen, ok := sc.agent.Observe(sc.agent.Sources()[0], line)
	require.True(t, ok)
	require.Equal(t, "claude-sonnet-5-5", seen.Event.(resume.Progressed).Model)
}
