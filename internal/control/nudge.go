package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Nudge is what an agent's hook sends when something happens to a session. It says where to
// look, and what is in no transcript: that the process asks for something.
type Nudge struct {
	Agent      string
	Session    string
	Transcript string // "": not known
	Asks       string // what its process asks a person for; "": nothing
	Answered   bool   // its process does not ask any more, if it did
}

// Limits for what a hook sends: more than the ids of any agent, and any path.
const (
	longestName = 200
	longestFile = 4096
)

var errNudge = errors.New("no agent says this to its hook")

// Nudge sends what a hook was called with.
func (c *Client) Nudge(ctx context.Context, n Nudge) error {
	return c.order(ctx, "/v1/nudge", url.Values{"agent": {n.Agent}, "session": {n.Session}, "transcript": {n.Transcript}, "asks": {n.Asks}, "answered": {strconv.FormatBool(n.Answered)}})
}

func (s *Server) nudge(r *http.Request) (any, error) {
	n := Nudge{Agent: r.FormValue("agent"), Session: r.FormValue("session"), Transcript: r.FormValue("transcript"), Asks: r.FormValue("asks"), Answered: r.FormValue("answered") == "true"}
	if n.Session == "" || max(len(n.Agent), len(n.Session)) > longestName || max(len(n.Transcript), len(n.Asks)) > longestFile {
		return nil, errNudge
	}
	return done, s.backend.Nudge(n)
}

// callFile is the file whose modification time says when an agent last called a hook.
func callFile(runtimeDir, agent string) string { return filepath.Join(runtimeDir, "called", agent) }

// MarkCall stores that an agent calls a hook now, also while no daemon runs.
func MarkCall(runtimeDir, agent string) error {
	path := callFile(runtimeDir, agent)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// LastCall returns when an agent last called a hook; zero: not since the user has logged in.
func LastCall(runtimeDir, agent string) time.Time {
	info, err := os.Lstat(callFile(runtimeDir, agent))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
