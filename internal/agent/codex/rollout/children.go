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

// longestWork bounds how far back the subagents of a session are searched.
const longestWork = 8 * 24 * time.Hour

// Subagents returns the threads that work for a session and ended with a refusal that may lift by itself,
// since that time, the oldest first. Each has a rollout in the directory of the day on which it began.
func (rd *Reader) Subagents(ctx context.Context, root, session string, since time.Time) (stopped []resume.Subagent, err error) {
	now := time.Now()
	since = resume.Later(since, now.Add(-longestWork))
	for day := since.AddDate(0, 0, -1); !day.After(now.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) { // Codex's zone is not known
		for _, path := range rd.childrenIn(filepath.Join(root, day.Format("2006/01/02")))[session] {
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

// children are the rollouts of a directory that work for others, by the thread that they work for.
type children struct {
	changed  time.Time // the directory's time of change when it was listed
	byParent map[string][]string
}

func (rd *Reader) childrenIn(dir string) map[string][]string {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // nothing began on that day
	}
	if listed, ok := rd.children.Get(dir); ok && listed.changed.Equal(info.ModTime()) {
		return listed.byParent
	}
	found, complete := children{info.ModTime(), make(map[string][]string)}, true
	paths, _ := filepath.Glob(filepath.Join(dir, "rollout-*.jsonl")) // errs on a bad pattern only
	for _, path := range paths {
		h, ok := rd.Head(path)
		if parent := h.parent(); parent != "" {
			found.byParent[parent] = append(found.byParent[parent], path)
		}
		complete = complete && ok
	}
	if complete { // otherwise one is being created
		rd.children.Put(dir, found)
	}
	return found.byParent
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
