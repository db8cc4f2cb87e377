package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Nudge is what an agent's hook sends when something happens to a session. It only says where to
// look: the event itself is read from the transcript.
type Nudge struct {
	Agent      string
	Session    string
	Transcript string // "": not known
}

// Limits for what a hook sends: more than the ids of any agent, and any path.
const (
	longestName = 200
	longestFile = 4096
)

var errNudge = errors.New("no agent says this to its hook")

// Nudge sends what a hook was called with.
func (c *Client) Nudge(ctx context.Context, n Nudge) error {
	return c.order(ctx, "/v1/nudge", url.Values{"agent": {n.Agent}, "session": {n.Session}, "transcript": {n.Transcript}})
}

func (s *Server) nudge(r *http.Request) (any, error) {
	n := Nudge{Agent: r.FormValue("agent"), Session: r.FormValue("session"), Transcript: r.FormValue("transcript")}
	if n.Session == "" || max(len(n.Agent), len(n.Session)) > longestName || len(n.Transcript) > longestFile {
		return nil, errNudge
	}
	return done, s.backend.Nudge(n)
}
