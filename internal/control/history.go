package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"resumed/internal/resume"
)

// Step is one line of the history, as `history --json` prints it: what was decided or done,
// and why.
type Step struct {
	Version int            `json:"version"`
	At      time.Time      `json:"at"`
	Session string         `json:"session"`           // empty: it concerns the daemon itself
	Name    string         `json:"name,omitempty"`    // of the session, for people; empty if it was removed long ago
	Project string         `json:"project,omitempty"` // the last part of its directory
	Agent   string         `json:"agent"`
	Kind    string         `json:"kind"` // the new state, or what else happened
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"`
	Class   string         `json:"class,omitempty"`
	Reason  string         `json:"reason"`
	NextAt  time.Time      `json:"next_at,omitzero"`
	Attempt int            `json:"attempt"`           // resumes since the transcript last moved
	Outcome resume.Outcome `json:"outcome,omitempty"` // of the resume that ended with this step
	Error   string         `json:"error,omitempty"`
	AliveAt time.Time      `json:"alive_at,omitzero"` // of a daemon that starts: when one last ran before; zero: never, or not known
}

// history streams the steps as JSON Lines, because there may be too many for memory.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if text := r.FormValue("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	steps, err := s.backend.History(r.Context(), r.FormValue("name"), since)
	if err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	encoder := json.NewEncoder(w)
	for step, err := range steps {
		if err == nil {
			err = encoder.Encode(step)
		}
		if err != nil {
			// The status line was already sent: a broken answer shows that something is missing.
			panic(http.ErrAbortHandler)
		}
	}
}

// History returns the steps since a time, oldest first, of all sessions or of the one with that
// name. It ends at the first error.
func (c *Client) History(ctx context.Context, name string, since time.Time) (iter.Seq2[Step, error], error) {
	query := url.Values{"name": {name}}
	if !since.IsZero() {
		query.Set("since", since.Format(time.RFC3339Nano))
	}
	body, err := c.open(ctx, http.MethodGet, "/v1/history", query)
	if err != nil {
		return nil, err
	}
	return func(yield func(Step, error) bool) {
		defer body.Close()
		for decoder := json.NewDecoder(body); ; {
			var step Step
			err := decoder.Decode(&step)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("read the daemon's answer: %w", err)
			}
			if !yield(step, err) || err != nil {
				return
			}
		}
	}, nil
}
