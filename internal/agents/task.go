package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// AfterReset is the After of a task that waits for the account's next window.
const AfterReset = "reset"

// Task makes a task of an order. The caller looks up what the task waits for, unless that is a time.
func Task(made map[string]agent.Agent, order view.TaskOrder, id string, now time.Time) (resume.Session, error) {
	a, err := starter(made, order.Agent)
	if err != nil {
		return resume.Session{}, err
	}
	after := strings.TrimSpace(order.After)
	s := resume.Session{
		Key: resume.Key{Agent: a.Name(), ID: id}, Account: a.Home(), Cwd: order.Dir, Kind: resume.Headless,
		Task: &resume.Task{Prompt: order.Prompt, Model: order.Model, Mode: order.Mode, After: after, AddedAt: now},
	}
	if at, ok := clock(after, now); ok {
		s.Task.NotBefore = at
	}
	return s, agent.CheckTask(a, s)
}

// starter returns the agent of that name, or the first one on this machine.
func starter(made map[string]agent.Agent, name string) (agent.Starter, error) {
	var names []string
	for _, a := range starters(made) {
		names = append(names, a.Name())
		if a.Name() == name {
			return a, nil
		}
		if _, err := a.Program(); name == "" && err == nil {
			return a, nil
		}
	}
	switch {
	case name == "":
		return nil, fmt.Errorf("no agent on this machine can be started: resumed can start %s, and --agent names one", strings.Join(names, ", "))
	case made[name] == nil:
		return nil, fmt.Errorf("the agent %q is not configured or switched off; configured: %s", name, strings.Join(sorted(made), ", "))
	default:
		return nil, fmt.Errorf("resumed cannot start a session of %s, only of %s", name, strings.Join(names, ", "))
	}
}

// starters returns the agents that can start a session, in the order of the list.
func starters(made map[string]agent.Agent) (all []agent.Starter) {
	listed := func(name string) int {
		return slices.IndexFunc(builtin, func(b agent.Builtin) bool { return b.Name == name })
	}
	names := sorted(made)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(uint(listed(a)), uint(listed(b))) // the user's own come last
	})
	for _, name := range names {
		if a, ok := made[name].(agent.Starter); ok && a.Starts() {
			all = append(all, a)
		}
	}
	return all
}

// clock parses the next clock time, a date, or a duration from now.
func clock(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if !at.After(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			return at, true
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil && resume.ValidRecordTime(t) {
			return t, true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), true
	}
	return time.Time{}, false
}
