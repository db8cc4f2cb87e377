package webui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// ordered is what became of an order.
type ordered struct {
	Said  string   `json:"said"`            // times are stamps, as in reasons
	Early []string `json:"early,omitempty"` // keys: their provider asked to wait longer, and nothing was done
	Until string   `json:"until,omitempty"` // what the provider asked for, of the first of them
}

// order executes an order for one session or several. A retry before the time that the provider named
// is executed only if the person has confirmed it, which the form says by now.
func (p *Page) order(r *http.Request) (any, error) {
	order := control.Order(r.PathValue("order"))
	if !slices.Contains([]control.Order{control.Retry, control.Cancel, control.Pause, control.Unpause}, order) {
		return nil, &requestError{http.StatusNotFound, "404 page not found"}
	}
	err := r.ParseForm()
	agents, ids := r.PostForm["agent"], r.PostForm["id"] // not from the address, which logs keep
	if err != nil || len(ids) == 0 || len(ids) != len(agents) || slices.Contains(ids, "") || slices.Contains(agents, "") {
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
		session, err := p.backend.Do(ctx, key, order)
		switch {
		case errors.Is(err, control.ErrEarly):
			after.Early = append(after.Early, key.String())
			if after.Until == "" {
				after.Until = sanitize.Line(err.Error())
			}
		case err != nil:
			failed = append(failed, err)
		default:
			done = append(done, stateAndReason(session))
		}
	}
	if len(failed) == len(ids) {
		return nil, failed[0]
	}
	after.Said = summary(done, failed)
	return after, nil
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
	err := p.backend.SetPaused(ctx, paused)
	if paused {
		return "nothing is started until you unpause", err
	}
	return "sessions whose wait is over start now", err
}

// orderContext returns a context that outlives the request.
func orderContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), orderLimit)
}
