package deliver

import (
	"context"
	"fmt"
	"os"
	"slices"

	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Preview says what the next resume of a session would do, as things stand now. It
// goes the way that a resume goes, but takes no lease, sends nothing and notes
// nothing.
func (d *Deliverer) Preview(ctx context.Context, session resume.Session) view.Plan {
	view := view.Plan{Command: []string{}, Repeated: []string{}, LeftOut: []string{}, Env: []string{}, EnvUnset: []string{}}
	session = d.located(session)
	notSent, err := d.setAside(ctx, session)
	if err != nil {
		return view // the daemon stops
	}
	var due *delivery
	if notSent == nil {
		due, notSent = d.decide(ctx, session, false)
	}
	if notSent == nil {
		notSent = due.preview(ctx, &view)
	}
	if notSent != nil {
		view.Instead = notSent.Why
	}
	return view
}

// preview shows what would be sent, and returns why it would not.
func (v *delivery) preview(ctx context.Context, view *view.Plan) *resume.NotSent {
	switch way := v.way.(type) {
	case *command:
		return way.show(ctx, view)
	case *queue:
		return way.show(ctx, view)
	case *typing: // its screen is looked at when it is typed into
		view.Does = fmt.Sprintf("%q is typed into the terminal of process %d", way.plan.Text, way.plan.Process.PID)
	case *message:
		view.Does = fmt.Sprintf("%q is sent to %s", way.plan.Text, way.plan.To)
	}
	return nil
}

// show shows the command, and returns why it would not be run.
func (c *command) show(ctx context.Context, view *view.Plan) *resume.NotSent {
	notSent := c.ready(ctx)
	view.Command, view.Dir = c.session.Shown(c.plan.Argv), c.plan.Dir
	view.Repeated = append(view.Repeated, c.session.Shown(c.plan.Carried.Args)...)
	view.LeftOut = append(view.LeftOut, leash.Words(c.plan.Carried.LeftOut)...)
	view.Models = c.plan.Models.May()
	if c.most > 0 {
		view.OwnKey = fmt.Sprintf("with your own key, for at most %.2f USD", c.most)
	}
	view.Env = append(view.Env, c.env.had...)
	for _, name := range c.env.unset {
		if _, own := os.LookupEnv(name); own && !slices.Contains(view.EnvUnset, name) {
			view.EnvUnset = append(view.EnvUnset, name)
		}
	}
	return notSent
}
