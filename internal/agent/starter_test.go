package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// beginner is a parrot that can begin sessions.
type beginner struct{ parrot }

func (b *beginner) Start(task resume.Session) (agent.Plan, error) {
	return b.Open(task, agent.Opening{
		Args: []string{"begin"}, Mode: "--mode", Modes: []string{"plan", "edit"}, Env: func(program.Found) []string { return nil },
	}), nil
}

func (*beginner) Home() string { return "parrot:default" }

// What is wrong with a task is told to the person who gives it, and not hours later, when nobody looks.
func TestATaskIsCheckedWhenItIsGiven(t *testing.T) {
	dir := t.TempDir()
	bot := filepath.Join(dir, "bot")
	require.NoError(t, os.WriteFile(bot, []byte("#!/bin/sh\n"), 0o700))
	able := &beginner{parrot{Base: agent.NewBase(agent.About{Name: "parrot", Program: "bot"}, agent.Options{Command: bot})}}
	task := func(change func(*resume.Session)) resume.Session {
		s := resume.Session{Cwd: dir, Task: &resume.Task{Prompt: "fix the tests", Model: "big", Mode: "plan"}}
		change(&s)
		return s
	}
	fine := task(func(*resume.Session) {})
	require.NoError(t, agent.CheckTask(able, fine))
	plan, err := able.Start(fine)
	require.NoError(t, err)
	require.Equal(t, []string{bot, "begin", "--model", "big", "--mode", "plan", "-p", "fix the tests"}, plan.Run.Argv)

	for wrong, change := range map[string]func(*resume.Session){
		"the prompt is empty":      func(s *resume.Session) { s.Task.Prompt = " \n" },
		"the prompt has a NUL":     func(s *resume.Session) { s.Task.Prompt = "fix\x00the tests" },
		"is not an absolute path":  func(s *resume.Session) { s.Cwd = "src" },
		"is not a directory you":   func(s *resume.Session) { s.Cwd = bot },
		`"all" is no permission`:   func(s *resume.Session) { s.Task.Mode = "all" },
		`"--all" is no permission`: func(s *resume.Session) { s.Task.Mode = "--all" },
		`the model name "--all"`:   func(s *resume.Session) { s.Task.Model = "--all" },
	} {
		require.ErrorContains(t, agent.CheckTask(able, task(change)), wrong)
	}
	require.ErrorContains(t, agent.CheckTask(&parrot{}, fine), "cannot start a session")
	able.Command = filepath.Join(dir, "none")
	require.ErrorContains(t, agent.CheckTask(able, fine), "bot was not found")
}
