package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func (s *Server) taskOrder(r *http.Request, order string) (any, error) {
	queue, ctx, name := s.backend.Queue(), r.Context(), r.FormValue("task")
	var wanted view.TaskOrder
	if text := r.FormValue("order"); text != "" {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return nil, fmt.Errorf("read what is asked for: %w", err)
		}
	}
	if wanted.Mode != "" {
		if err := onlyPerson(r, "what another one may do"); err != nil {
			return nil, err
		}
	}
	switch order {
	case "add":
		return queue.Enqueue(ctx, wanted)
	case "edit":
		return queue.Edit(ctx, name, wanted)
	case "drop":
		return queue.Drop(ctx, name)
	default:
		return queue.Move(ctx, name, r.FormValue("to"))
	}
}

// Tasks returns the tasks that wait and those that were started recently.
func (c *Client) Tasks(ctx context.Context) ([]view.Task, error) {
	return call[[]view.Task](ctx, c, http.MethodGet, "/v1/queue", nil)
}

// Enqueue adds a task.
func (c *Client) Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error) {
	return c.orderTask(ctx, "add", "", &order)
}

// Edit replaces a task.
func (c *Client) Edit(ctx context.Context, task string, order view.TaskOrder) (view.Task, error) {
	return c.orderTask(ctx, "edit", task, &order)
}

// Drop removes a task.
func (c *Client) Drop(ctx context.Context, task string) (view.Task, error) {
	return c.orderTask(ctx, "drop", task, nil)
}

// Move moves a task to the position of another one, or to First or Last.
func (c *Client) Move(ctx context.Context, task, to string) ([]view.Task, error) {
	return call[[]view.Task](ctx, c, http.MethodPost, "/v1/queue/move", url.Values{"task": {task}, "to": {to}})
}

func (c *Client) orderTask(ctx context.Context, what, task string, order *view.TaskOrder) (view.Task, error) {
	query := url.Values{"task": {task}}
	if order != nil {
		if err := resume.CheckPrompt(order.Prompt); err != nil {
			return view.Task{}, err // a much longer one does not fit into a request
		}
		text, err := json.Marshal(order)
		if err != nil {
			return view.Task{}, err
		}
		query.Set("order", string(text))
	}
	return call[view.Task](ctx, c, http.MethodPost, "/v1/queue/"+what, query)
}
