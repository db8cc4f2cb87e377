package view

import (
	"time"

	"resumed/internal/resume"
)

// Task is a task as other programs see it. Its JSON is stable: fields may be added, but not changed.
type Task struct {
	N       int              `json:"n"`
	ID      string           `json:"id"`
	Agent   string           `json:"agent"`
	Account string           `json:"account"`
	Dir     string           `json:"dir"`
	Prompt  string           `json:"prompt"`
	Model   string           `json:"model,omitempty"`
	Mode    string           `json:"mode,omitempty"`
	After   string           `json:"after"` // empty: it only waits for room
	State   resume.TaskState `json:"state"`
	Paused  bool             `json:"paused"`
	Session *string          `json:"session"` // id of its session; null: none yet
	Reason  string           `json:"reason"`
	AddedAt *time.Time       `json:"added_at"`
	NextAt  *time.Time       `json:"next_at"`  // when it is due; null: it does not wait, or it waits for a person
	BegunAt *time.Time       `json:"begun_at"` // null: not yet
}

// OfTask returns the task of a session as other programs see it.
func OfTask(s resume.Session) Task {
	v := Task{
		N: s.Task.N, ID: s.Key.ID, Agent: s.Key.Agent, Account: s.Account, Dir: s.Cwd,
		Prompt: s.Task.Prompt, Model: s.Task.Model, Mode: s.Task.Mode, After: s.Task.After,
		State: s.TaskState(), Paused: s.Paused, Reason: s.Reason,
		AddedAt: viewTime(s.Task.AddedAt), BegunAt: viewTime(s.Task.BegunAt),
	}
	if s.Pending() {
		v.NextAt = viewTime(s.ResumesAt())
	}
	if s.Task.Session != "" {
		v.Session = new(s.Task.Session)
	}
	return v
}

// TaskOrder is a person's request for a task.
type TaskOrder struct {
	Agent  string `json:"agent,omitempty"` // empty: the first that is installed
	Dir    string `json:"dir"`             // absolute
	Prompt string `json:"prompt"`
	Model  string `json:"model,omitempty"`
	Mode   string `json:"mode,omitempty"`
	After  string `json:"after,omitempty"`
}

// Order returns a request for the same task.
func (v Task) Order() TaskOrder {
	return TaskOrder{Agent: v.Agent, Dir: v.Dir, Prompt: v.Prompt, Model: v.Model, Mode: v.Mode, After: v.After}
}
