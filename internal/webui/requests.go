package webui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/timeline"
)

// Bounds of one request for the history.
const (
	fewSteps  = 200
	mostSteps = 5000
)

type task struct {
	Key     string     `json:"key"`
	Agent   string     `json:"agent"` // as the daemon knows it, for orders
	ID      string     `json:"id"`    // as above
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

var taskTones = map[resume.TaskState]humanize.Tone{
	resume.TaskQueued: humanize.Wait, resume.TaskStarting: humanize.Busy, resume.TaskStarted: humanize.Good, resume.TaskFailed: humanize.Bad,
}

func showTask(t view.Task) task {
	shown := task{
		Key: resume.Key{Agent: t.Agent, ID: t.ID}.String(), Agent: t.Agent, ID: t.ID, N: t.N, Prompt: sanitize.Cut(sanitize.Line(t.Prompt), sanitize.Sentence), By: sanitize.Line(t.Agent),
		Project: sanitize.Line(filepath.Base(t.Dir)), Dir: sanitize.Line(t.Dir), State: humanize.Plain(string(t.State)),
		Tone: string(cmp.Or(taskTones[t.State], humanize.Still)), After: sanitize.Line(t.After), Why: sanitize.Line(t.Reason), AddedAt: t.AddedAt, NextAt: t.NextAt,
	}
	if t.Paused && t.State == resume.TaskQueued {
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
	steps, err := collect(p.backend.Steps(r.Context(), resume.Key{}, time.Time{}, min(most, mostSteps)))
	if err != nil {
		return nil, err
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

// ordered is what became of an order.
type ordered struct {
	Said  string   `json:"said"`            // times are stamps, as in reasons
	Early []string `json:"early,omitempty"` // keys: their provider asked to wait longer, and nothing was done
	Until string   `json:"until,omitempty"` // what the provider asked for, of the first of them
}

// drop is the order that removes a task from the queue.
const drop control.Action = "drop"

// order executes an order for sessions or tasks. A retry before the time that the provider named
// is executed only if the person has confirmed it, which the form says by now.
func (p *Page) order(r *http.Request) (any, error) {
	order := control.Action(r.PathValue("order"))
	if !slices.Contains([]control.Action{control.Retry, control.Cancel, control.Pause, control.Unpause, drop}, order) {
		return nil, &requestError{http.StatusNotFound, "404 page not found"}
	}
	err := r.ParseForm()
	agents, ids, host := r.PostForm["agent"], r.PostForm["id"], r.PostForm.Get("host") // not from the address, which logs keep
	if err != nil || len(ids) == 0 || len(ids) != len(agents) || order == drop && host != "" || slices.Contains(ids, "") || slices.Contains(agents, "") {
		return nil, &requestError{http.StatusBadRequest, "an order is a short form that names sessions"}
	}
	if order == control.Retry && r.PostForm.Get("now") == "" {
		order = control.Due
	}
	ctx, cancel := orderContext(r)
	defer cancel()
	var done []string
	var failed []error
	after := ordered{}
	for i := range ids {
		key := resume.Key{Agent: agents[i], ID: ids[i]}
		said, err := p.do(ctx, host, key, order)
		switch {
		case errors.Is(err, control.ErrEarly):
			after.Early = append(after.Early, key.String())
			after.Until = cmp.Or(after.Until, sanitize.Line(err.Error()))
		case err != nil:
			failed = append(failed, err)
		default:
			done = append(done, said)
		}
	}
	if len(failed) == len(ids) {
		return nil, failed[0]
	}
	after.Said = summary(done, failed)
	return after, nil
}

// do executes an order for one session, which may be on another host, and returns its state after that.
func (p *Page) do(ctx context.Context, host string, key resume.Key, order control.Action) (string, error) {
	if order == drop {
		_, err := p.backend.Queue().Drop(ctx, key.ID)
		return "removed from the queue", err
	}
	var session view.Session
	var err error
	if host == "" {
		session, err = p.backend.Do(ctx, key, order)
	} else {
		session, err = p.backend.DoAway(ctx, host, key.String(), order)
	}
	state, _ := humanize.State(session)
	return strings.TrimSuffix(state+": "+sanitize.Line(session.Reason), ": "), err
}

// summary says what became of an order for several sessions; of one, the state after it.
func summary(done []string, failed []error) string {
	if len(done) == 1 && len(failed) == 0 {
		return done[0]
	}
	var words []string
	if len(done) > 0 {
		words = append(words, "done for "+humanize.Count(len(done), "session"))
	}
	if len(failed) > 0 {
		words = append(words, fmt.Sprintf("not possible for %d: %s", len(failed), sanitize.Line(failed[0].Error())))
	}
	return strings.Join(words, "; ")
}

func (p *Page) setPaused(r *http.Request, paused bool) (any, error) {
	ctx, cancel := orderContext(r)
	defer cancel()
	if err := p.backend.SetPaused(ctx, paused); err != nil {
		return nil, err
	}
	if paused {
		return ordered{Said: "nothing is started until you unpause"}, nil
	}
	said := "sessions whose wait is over start now"
	status, err := p.backend.Status(ctx, false)
	if n := len(slices.DeleteFunc(status.Sessions, func(s view.Session) bool { return !s.Paused })); err == nil && n > 0 {
		said += "; " + humanize.StillPaused(n)
	}
	return ordered{Said: said}, nil
}

// orderContext returns a context that outlives the request.
func orderContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), orderLimit)
}

// Bounds of one request for strips.
const (
	mostStrips       = 64
	stepsOfOne       = 1000
	stepsOfAll       = 20000
	mostAccountStrip = 100
)

// strip is the timeline of a session or an account.
type strip struct {
	Key string `json:"key"`
	timeline.Strip
}

func (p *Page) strips(r *http.Request) (any, error) {
	query := r.URL.Query()
	agents, ids := query["agent"], query["id"]
	if len(agents) != len(ids) || len(ids) == 0 || len(ids) > mostStrips {
		return nil, &requestError{http.StatusBadRequest, "strips are of a few sessions, each with its agent and its id"}
	}
	keys := make([]resume.Key, len(ids))
	for i := range ids {
		keys[i] = resume.Key{Agent: agents[i], ID: ids[i]}
	}
	status, own, err := p.statusAndOwnSteps(r.Context(), true, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]strip, 0, len(status.Sessions))
	for _, v := range status.Sessions {
		steps, err := p.stepsBy(r.Context(), v.Key(), status.Now, stepsOfOne)
		if err != nil {
			return nil, err
		}
		all = append(all, strip{v.Key().String(), timeline.Session(v, steps[v.Key()], own, status.Now)})
	}
	return all, nil
}

func (p *Page) accountStrips(r *http.Request) (any, error) {
	status, own, err := p.statusAndOwnSteps(r.Context(), false)
	if err != nil {
		return nil, err
	}
	steps, err := p.stepsBy(r.Context(), resume.Key{}, status.Now, stepsOfAll)
	if err != nil {
		return nil, err
	}
	sessions := make(map[string][]view.Session)
	for _, v := range status.Sessions {
		name := v.AccountKey().String()
		sessions[name] = append(sessions[name], v)
	}
	all := make([]strip, 0, len(status.Accounts))
	for _, a := range status.Accounts[:min(len(status.Accounts), mostAccountStrip)] {
		all = append(all, strip{a.String(), timeline.Account(a, sessions[a.String()], steps, own, status.Now)})
	}
	return all, nil
}

func (p *Page) statusAndOwnSteps(ctx context.Context, all bool, only ...resume.Key) (status control.Status, own []control.Step, err error) {
	if status, err = p.backend.Status(ctx, all, only...); err == nil {
		own, err = p.ownSteps(ctx, status.Now)
	}
	return status, own, err
}

// stepsBy returns the steps in the span of a strip, by session.
func (p *Page) stepsBy(ctx context.Context, key resume.Key, now time.Time, most int) (map[resume.Key][]control.Step, error) {
	found, err := collect(p.backend.Steps(ctx, key, now.Add(-timeline.Reach), most))
	steps := make(map[resume.Key][]control.Step)
	for _, step := range found {
		if step.Session != "" {
			of := resume.Key{Agent: step.Agent, ID: step.Session}
			steps[of] = append(steps[of], step)
		}
	}
	return steps, err
}

// ownSteps returns the daemon's own steps in the span of a strip.
func (p *Page) ownSteps(ctx context.Context, now time.Time) ([]control.Step, error) {
	return collect(p.backend.OwnSteps(ctx, now.Add(-timeline.Reach)))
}

func collect(steps iter.Seq2[control.Step, error]) (all []control.Step, err error) {
	for step, err := range steps {
		if err != nil {
			return nil, err
		}
		all = append(all, step)
	}
	return all, nil
}
