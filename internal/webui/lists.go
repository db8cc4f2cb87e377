package webui

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Bounds of one request for the history.
const (
	fewSteps  = 200
	mostSteps = 5000
)

// task is work that has no session yet.
type task struct {
	N       int        `json:"n"`
	Prompt  string     `json:"prompt"`
	By      string     `json:"by"`
	Project string     `json:"project"`
	Dir     string     `json:"dir"`
	State   string     `json:"state"`
	Tone    string     `json:"tone"`
	After   string     `json:"after,omitempty"`
	Why     string     `json:"why"`
	Session string     `json:"session,omitempty"` // key of its session
	AddedAt *time.Time `json:"added_at,omitempty"`
	NextAt  *time.Time `json:"next_at,omitempty"`
}

// queue sends the tasks.
func (p *Page) queue(r *http.Request) (any, error) {
	all := []task{}
	tasks := p.backend.Queue()
	if tasks == nil {
		return all, nil
	}
	found, err := tasks.Tasks(r.Context())
	for _, t := range found {
		all = append(all, showTask(t))
	}
	return all, err
}

// taskTones are the tones of states of tasks.
var taskTones = map[resume.TaskState]humanize.Tone{
	resume.TaskQueued: humanize.Wait, resume.TaskStarting: humanize.Busy, resume.TaskStarted: humanize.Good, resume.TaskFailed: humanize.Bad,
}

func showTask(t view.Task) task {
	shown := task{
		N: t.N, Prompt: sanitize.Cut(sanitize.Line(t.Prompt), sanitize.Sentence), By: sanitize.Line(t.Agent),
		Project: sanitize.Line(filepath.Base(t.Dir)), Dir: sanitize.Line(t.Dir), State: humanize.Plain(string(t.State)),
		Tone: string(cmp.Or(taskTones[t.State], humanize.Still)), After: sanitize.Line(t.After), Why: sanitize.Line(t.Reason), AddedAt: t.AddedAt, NextAt: t.NextAt,
	}
	if t.Paused {
		shown.State, shown.Tone = "paused", string(humanize.Still)
	}
	if t.Session != nil {
		shown.Session = resume.Key{Agent: t.Agent, ID: *t.Session}.String()
	}
	return shown
}

// past is a step of any session, or of the daemon itself.
type past struct {
	Key  string `json:"key,omitempty"` // empty: of the daemon
	Name string `json:"name"`
	By   string `json:"by"`
	step
}

// history sends the newest steps of all sessions, newest first.
func (p *Page) history(r *http.Request) (any, error) {
	most, err := strconv.Atoi(r.URL.Query().Get("most"))
	if err != nil || most < 1 {
		most = fewSteps
	}
	var steps []control.Step
	for step, err := range p.backend.Steps(r.Context(), resume.Key{}, time.Time{}, min(most, mostSteps)) {
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	all := make([]past, 0, len(steps))
	for _, s := range slices.Backward(steps) {
		shown := past{Name: sanitize.Line(cmp.Or(s.Name, s.Session)), By: sanitize.Line(s.Agent), step: showStep(s)}
		if s.Session != "" {
			shown.Key = resume.Key{Agent: s.Agent, ID: s.Session}.String()
		}
		all = append(all, shown)
	}
	return all, nil
}
