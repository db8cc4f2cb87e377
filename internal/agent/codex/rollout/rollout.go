// Package rollout reads what Codex writes of its sessions: what a line of a rollout means, what
// a turn was begun with, and what the provider said of the account's limits.
package rollout

import (
	"path/filepath"
	"regexp"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Reader says what lines of rollouts mean. It remembers some of what it has read. It needs
// LimitsAt, and nothing else.
type Reader struct {
	// LimitsAt returns what understands a refusal that was told at that time.
	LimitsAt func(time.Time) limit.Reader

	heads agent.Cache[Head]
	dirs  agent.Cache[workDir]
}

var rolloutPath = regexp.MustCompile(`^\d{4}/\d\d/\d\d/rollout-[^/]+\.jsonl$`)

// Match accepts rollouts, which lie in a directory for each day.
func Match(rel string) bool { return rolloutPath.MatchString(filepath.ToSlash(rel)) }

// Head returns the first record of a rollout, or false where it cannot be
// read.
func (rd *Reader) Head(path string) (Head, bool) { return rd.headBefore(agent.Line{Path: path}) }

// headBefore is Head of the rollout that a line is of. All before the line may be
// at hand.
func (rd *Reader) headBefore(line agent.Line) (Head, bool) {
	if h, ok := rd.heads.Get(line.Path); ok {
		return h, true
	}
	var first struct {
		Type    string `json:"type"`
		Payload Head   `json:"payload"`
	}
	if !agent.Decode(agent.Lean(agent.FirstLine(line)), &first) || first.Type != "session_meta" {
		return Head{}, false
	}
	rd.heads.Put(line.Path, first.Payload)
	return first.Payload, true
}
