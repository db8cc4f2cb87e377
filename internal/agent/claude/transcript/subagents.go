package transcript

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

const (
	// mostSubagents is how many transcripts of subagents are read: the newest.
	mostSubagents = 50

	// longestAbout is how much of a subagent's description is stored.
	longestAbout = 60
)

// Subagents returns the subagents of a session that ended with a refusal since a time, and have not
// continued, the oldest first. Each has a transcript of its own, SESSION/subagents/agent-ID.jsonl, and
// a description beside it.
func (rd *Reader) Subagents(ctx context.Context, transcript string, since time.Time) ([]resume.Subagent, error) {
	paths, err := newest(filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), "subagents"), since)
	var stopped []resume.Subagent
	for _, path := range paths {
		found, ok, err := rd.subagent(ctx, path)
		if err != nil {
			return nil, err
		}
		if ok && !found.At.Before(since) {
			stopped = append(stopped, found)
		}
	}
	slices.SortFunc(stopped, func(a, b resume.Subagent) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return stopped, err
}

// newest returns the transcripts of subagents in a directory that were written since a time.
func newest(dir string, since time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	written := make(map[string]time.Time)
	var paths []string
	for _, entry := range entries {
		is, _ := filepath.Match("agent-*.jsonl", entry.Name()) // errs on a bad pattern only
		info, statErr := entry.Info()
		if !is || statErr != nil || !info.Mode().IsRegular() || info.ModTime().Before(since) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		written[path], paths = info.ModTime(), append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(written[b].Compare(written[a]), strings.Compare(a, b)) })
	return paths[:min(len(paths), mostSubagents)], err
}

// subagent returns the subagent of a transcript, if its last record of the conversation is a refusal that
// may lift by itself.
func (rd *Reader) subagent(ctx context.Context, path string) (found resume.Subagent, stopped bool, err error) {
	in := lines.Whole(path)
	in.Lines = maxBackLines
	may := func(line []byte) bool {
		return slices.Contains([]string{"assistant", "user"}, string(recordType(line)))
	}
	err = lines.Records(ctx, in, may, func(r record, line lines.Line) bool {
		if r.Type != "assistant" && r.Type != "user" {
			return true
		}
		verdict := limit.Verdict{}
		if stopped = r.Type == "assistant" && r.IsAPIError; stopped {
			verdict = r.refusal().Verdict(rd.LimitsAt(r.at(line.ModTime)))
			stopped = verdict.Class.Transient()
		}
		found = resume.Subagent{Class: verdict.Class, At: r.at(line.ModTime), Reset: verdict.Reset.At}
		return false
	})
	found.ID = strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
	if !stopped || !IsID(found.ID) {
		return resume.Subagent{}, false, err
	}
	found.Kind, found.About = described(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
	return found, true, err
}

// described returns the kind of a subagent, and its task in a few words.
func described(path string) (kind, about string) {
	var meta struct {
		Kind  string `json:"agentType"`
		About string `json:"description"`
	}
	agent.ReadJSON(path, &meta) // without it, the subagent has its id only
	return sanitize.Short(meta.Kind, longestAbout), sanitize.Short(meta.About, longestAbout)
}
