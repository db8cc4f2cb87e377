package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Owner returns the live process that holds the session. Claude Code takes no
// lock: a second process on one session forks the conversation.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	registered := make(map[int]bool) // live processes of which the session is known
	for _, root := range a.Homes.Roots {
		entries, err := a.living(filepath.Join(root, "sessions"))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.SessionID == s.Key.ID && !a.Processes.IsRun(e.PID, s) {
				return a.ownerBy(e), nil
			}
			registered[e.PID] = true
		}
	}
	return a.lodger(ctx, s, registered)
}

// lodger returns a process of Claude Code that lives in the session's
// directory and is in no registry, as versions before 2.1 are. Which session it
// holds cannot be known, so it may be this one.
func (a *Agent) lodger(ctx context.Context, s resume.Session, registered map[int]bool) (found *resume.Owner, err error) {
	if s.Cwd == "" {
		return nil, nil
	}
	all, err := a.Processes.List(ctx)
	if err != nil && writerRegisters(ctx, s.Transcript) {
		return nil, nil // who holds it would have said so
	}
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if registered[p.PID] || !isSession(p.Argv) || !a.lives(p.PID, "") {
			continue
		}
		place, err := a.Processes.Where(p.PID)
		if err != nil {
			return nil, err
		}
		if !agent.SameDir(place, s.Cwd) || a.Processes.Variable(p.PID, agent.MarkVariable) != "" {
			// One with a mark was started to resume some session; which one, it does not say.
			continue
		}
		if found != nil {
			found.Guessed = true
			break
		}
		found = &resume.Owner{PID: p.PID, Kind: kindOf(p.Argv), Tmux: a.Processes.Variable(p.PID, "TMUX_PANE")}
	}
	return found, nil
}

// writerRegisters reports whether a version that is in the registry while it lives was
// the last to write the transcript: 2.1 was the first.
func writerRegisters(ctx context.Context, transcript string) bool {
	var major, minor int
	err := agent.LinesBack(ctx, transcript, func(line agent.Line) bool {
		var r struct {
			Version string `json:"version"`
		}
		_ = json.Unmarshal(line.Data, &r) // what is no record names no version
		n, _ := fmt.Sscanf(r.Version, "%d.%d.", &major, &minor)
		return n < 2
	})
	return err == nil && (major > 2 || major == 2 && minor >= 1)
}

// entry is one file of the registry, sessions/PID.json.
type entry struct {
	PID        int    `json:"pid"`
	SessionID  string `json:"sessionId"`
	ProcStart  string `json:"procStart"`
	StartedAt  int64  `json:"startedAt"` // in milliseconds
	Entrypoint string `json:"entrypoint"`
	Tmux       string `json:"tmux"`
	Status     string `json:"status"` // busy | idle | waiting

	dir string // of the registry
}

// ownerBy returns the owner that an entry tells of.
func (a *Agent) ownerBy(e entry) *resume.Owner {
	o := &resume.Owner{PID: e.PID, Kind: cmp.Or(kindBy(e.Entrypoint), resume.Interactive), Tmux: e.Tmux}
	if o.Tmux == "" {
		o.Tmux = a.Processes.Variable(e.PID, "TMUX_PANE")
	}
	return o
}

// living returns the entries whose process is alive. A process that was killed
// leaves its file behind, and its pid may be another's by now.
func (a *Agent) living(dir string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // versions before 2.1 have no registry
	}
	if err != nil {
		return nil, fmt.Errorf("read session registry: %w", err)
	}
	var all []entry
	for _, file := range files {
		name, isJSON := strings.CutSuffix(file.Name(), ".json")
		pid, err := strconv.Atoi(name)
		if !isJSON || err != nil || pid <= 0 {
			continue
		}
		if e, ok := a.entry(dir, pid); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// entry returns what a living process says of itself. Where the file is half
// written it says nothing: the process shows in /proc all the same.
func (a *Agent) entry(dir string, pid int) (entry, bool) {
	data, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(pid)+".json"))
	if err != nil {
		return entry{}, false // it ended meanwhile
	}
	e := entry{dir: dir}
	if json.Unmarshal(data, &e) != nil || e.PID != pid || !a.lives(pid, e.ProcStart) {
		return entry{}, false
	}
	return e, true
}

// status returns what a process is doing now, in its own words.
func (a *Agent) status(of entry) string {
	now, ok := a.entry(of.dir, of.PID)
	if !ok || now.SessionID != of.SessionID {
		return "gone"
	}
	return now.Status
}
