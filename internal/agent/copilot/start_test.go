package copilot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestATaskIsBegunUnderItsOwnID(t *testing.T) {
	for rule, c := range map[string]struct {
		task resume.Task
		want []string
	}{
		"with the agent's own settings": {resume.Task{Prompt: "fix it"}, []string{"-p", "fix it"}},
		"with what the task names":      {resume.Task{Prompt: "fix it", Model: "gpt-5.4", Mode: "plan"}, []string{"--model", "gpt-5.4", "--mode", "plan", "-p", "fix it"}},
		"a prompt is never an option":   {resume.Task{Prompt: "--yolo"}, []string{"--prompt=--yolo"}},
	} {
		t.Run(rule, func(t *testing.T) {
			sc := newScene(t)
			plan, err := sc.Agent.Start(resume.Session{Key: sc.Session.Key, Cwd: sc.Session.Cwd, Task: &c.task})
			require.NoError(t, err)
			require.Equal(t, append([]string{sc.Program, "--session-id", sessionA}, c.want...), plan.Run.Argv)
			require.Equal(t, sc.Session.Cwd, plan.Run.Dir)
		})
	}
}
