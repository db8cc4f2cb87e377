// Package rollout reads what Codex writes of its sessions: what a line of a rollout means, what
// a turn was begun with, and what the provider said of the account's limits.
package rollout

import (
	"bytes"
	"encoding/json"
	"io"
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

// maxHead bounds how long the first record may be. It holds the instructions
// that the model was given, some 20 KB.
const maxHead = 16 << 20

// Head returns the first record of a rollout, or false where it cannot be
// read.
func (rd *Reader) Head(path string) (Head, bool) { return rd.headBefore(agent.Line{Path: path}) }

// headBefore is Head of the rollout that a line is of. All before the line may be
// at hand.
func (rd *Reader) headBefore(line agent.Line) (Head, bool) {
	if h, ok := rd.heads.Get(line.Path); ok {
		return h, true
	}
	begin, _ := line.Beginning()
	raw, _, found := bytes.Cut(begin, []byte("\n"))
	if !found {
		raw = firstRecord(line.Path)
	}
	var first struct {
		Type    string `json:"type"`
		Payload Head   `json:"payload"`
	}
	if !agent.Decode(agent.Lean(raw), &first) || first.Type != "session_meta" {
		return Head{}, false
	}
	rd.heads.Put(line.Path, first.Payload)
	return first.Payload, true
}

// firstRecord reads the first record of a rollout; nil where it cannot be read.
func firstRecord(path string) (raw json.RawMessage) {
	f, err := agent.OpenText(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, maxHead)).Decode(&raw) != nil {
		return nil
	}
	return raw
}
