package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/lines"
	"resumed/internal/resume"
)

// parent returns the thread that this one works for; "": none, or not stated.
func (h Head) parent() string {
	var source struct {
		Subagent struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	_ = json.Unmarshal(h.Source, &source) // a name states no parent
	return cmp.Or(h.Parent, source.Subagent.Spawn.Parent)
}

// longestWork bounds how long ago a subagent may have begun.
const longestWork = 8 * 24 * time.Hour

// Subagents returns the threads that work for a session and ended with a refusal that may lift by itself,
// since that time, the oldest first. Each has a rollout in the directory of the day on which it began.
func (rd *Reader) Subagents(ctx context.Context, root, session string, since time.Time) (stopped []resume.Subagent, err error) {
	now := time.Now()
	for day := now.Add(-longestWork); !day.After(now.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) { // Codex's zone is not known
		for _, path := range rd.childrenOf(session, root, day.Format("2006/01/02")) {
			found, ok, err := rd.subagent(ctx, path)
			if err != nil {
				return nil, err
			}
			if ok && !found.At.Before(since) {
				stopped = append(stopped, found)
			}
		}
	}
	slices.SortFunc(stopped, func(a, b resume.Subagent) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return stopped, nil
}

// childrenOf returns the rollouts of a day that work for a session. Only those that are new are read.
func (rd *Reader) childrenOf(session, root, day string) (paths []string) {
	dir, parents := filepath.Join(root, day), make(map[string]string)
	known, _ := rd.parents.Get(dir)
	entries, _ := os.ReadDir(dir) // there are none if nothing began on that day
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		parent, ok := known[name]
		if !ok && Match(day+"/"+name) {
			var h Head
			h, ok = firstRecord(lines.Line{Path: path}) // one that is being created has none yet
			parent = h.parent()
		}
		if ok {
			parents[name] = parent
		}
		if parent == session {
			paths = append(paths, path)
		}
	}
	rd.parents.Put(dir, parents)
	return paths
}

// subagent returns the thread of a rollout, if a refusal has ended its last turn.
func (rd *Reader) subagent(ctx context.Context, path string) (found resume.Subagent, stopped bool, err error) {
	h, _ := rd.Head(path)
	err = visit(ctx, lines.Whole(path), func(r record, line lines.Line) bool {
		event, _ := rd.event(h, r, line)
		limited, refused := event.(resume.Limited)
		stopped = refused && limited.Class.Transient()
		found = resume.Subagent{ID: h.ID, Kind: h.Role, About: h.Nickname, Class: limited.Class, At: limited.At, Reset: limited.Reset.At}
		return false
	}, taskStarted, "task_complete", "turn_aborted", "error")
	return found, stopped, err
}
