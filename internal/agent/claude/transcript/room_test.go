package transcript

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

const sessionA = claudetest.Session

// What Claude Code writes.
var base, said, refused, asked, noticed, encode = claudetest.Record, claudetest.Said, claudetest.Refused, claudetest.Asked, claudetest.Noticed, claudetest.Encode

// reading is an agent that can read, and nothing else.
type reading struct {
	agent.Agent
	lines agent.Transcripts
}

func (a *reading) Sources() []agent.Source { return []agent.Source{a.lines.Files} }

func (a *reading) Observe(src agent.Source, line lines.Line) (resume.Observation, bool) {
	return a.lines.Observe(src, line)
}

func newReading() *reading {
	limits := limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour}
	reader := Reader{LimitsAt: func(at time.Time) limit.Reader { limits := limits; limits.At = at; return limits }}
	return &reading{lines: agent.Transcripts{
		Files: agent.Source{Match: Match, Sift: Sift}, Read: reader.Read, Size: Size,
	}}
}

// written writes records into a transcript.
func written(t *testing.T, records ...any) (path string) {
	var text []byte
	for _, r := range records {
		text = append(append(text, encode(t, r)...), '\n')
	}
	path = filepath.Join(t.TempDir(), sessionA+".jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
