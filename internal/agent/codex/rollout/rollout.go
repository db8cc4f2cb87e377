// Package rollout parses the rollouts of Codex: the meaning of a line, the settings of a turn, and the
// state of the account's limits.
package rollout

import (
	"path/filepath"
	"regexp"
	"time"

	"resumed/internal/limit"
	"resumed/internal/lines"
)

// Reader interprets lines of rollouts, and caches some results. Only LimitsAt must be set.
type Reader struct {
	// LimitsAt returns a reader for limits that were stated at that time.
	LimitsAt func(time.Time) limit.Reader

	heads lines.Cache[Head]
	dirs  lines.Latest[string] // of the turns
}

var rolloutPath = regexp.MustCompile(`^\d{4}/\d\d/\d\d/rollout-[^/]+\.jsonl$`)

// Match accepts rollouts, which are in one directory per day.
func Match(rel string) bool { return rolloutPath.MatchString(filepath.ToSlash(rel)) }

// Head returns the first record of a rollout, or false if it cannot be read.
func (rd *Reader) Head(path string) (Head, bool) { return rd.headBefore(lines.Line{Path: path}) }

// headBefore is Head for the rollout of a line. Everything before the line may be in memory.
func (rd *Reader) headBefore(line lines.Line) (Head, bool) {
	if h, ok := rd.heads.Get(line.Path); ok {
		return h, true
	}
	var first struct {
		Type    string `json:"type"`
		Payload Head   `json:"payload"`
	}
	if !lines.Decode(line.First(), &first) || first.Type != "session_meta" {
		return Head{}, false
	}
	rd.heads.Put(line.Path, first.Payload)
	return first.Payload, true
}
