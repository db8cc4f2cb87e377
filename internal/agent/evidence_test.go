package agent_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

func write(t testing.TB, content string) string {
	path := filepath.Join(t.TempDir(), "transcript")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// parrot is an agent whose lines say plainly what they mean.
type parrot struct {
	agent.Base
	roots []string
}

func (*parrot) Name() string { return "parrot" }

func (p *parrot) Sources() []agent.Source {
	var all []agent.Source
	for _, root := range p.roots {
		all = append(all, agent.Source{Root: root})
	}
	return all
}

func (*parrot) Observe(_ agent.Source, l lines.Line) (resume.Observation, bool) {
	id, what, _ := strings.Cut(string(l.Data), " ")
	s := resume.Observation{Key: resume.Key{Agent: "parrot", ID: id}}
	switch what {
	case "limit":
		s.Event = resume.Limited{At: l.ModTime}
	case "move":
		s.Event = resume.Progressed{At: l.ModTime}
	case "prompt":
		s.Event = resume.Prompted{At: l.ModTime}
	default:
		return resume.Observation{}, false
	}
	return s, true
}

func (*parrot) Owner(context.Context, resume.Session) (*resume.Owner, error) { return nil, nil }

func (*parrot) Plan(context.Context, resume.Session, string) (agent.Plan, error) {
	return agent.Plan{}, nil
}

func TestTheLastSightingDecides(t *testing.T) {
	path := write(t, "a move\na limit\nnoise\nnoise\n")
	last, found, err := agent.Last(t.Context(), &parrot{}, agent.Source{}, path)
	require.NoError(t, err)
	require.True(t, found)
	require.IsType(t, resume.Limited{}, last.Event)
	require.EqualValues(t, 7, last.Offset)

	_, found, err = agent.Last(t.Context(), &parrot{}, agent.Source{}, write(t, "noise\n"))
	require.NoError(t, err)
	require.False(t, found)
}

// Some agents go on with another session in the same file. What is said of that one is nothing of this one: neither does
// it stop it, nor can its prompt be one of our resumes.
func TestATranscriptThatGoesOnAsAnotherSession(t *testing.T) {
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	s := resume.Session{Key: resume.Key{Agent: "parrot", ID: "a"}, Past: []resume.Attempt{{Mark: "m", StartedAt: at, EndedAt: at.Add(time.Minute)}}}
	for content, why := range map[string]string{
		"a limit\n":                     "",
		"b move\na limit\n":             "",
		"a limit\na prompt\n":           "", // of our resume
		"a limit\nb limit\n":            "goes on as session b",
		"a limit\nb prompt\n":           "goes on as session b",
		"a limit\nb prompt\na prompt\n": "goes on as session b",
	} {
		s.Transcript = write(t, content)
		require.NoError(t, os.Chtimes(s.Transcript, at, at))
		_, plan, still, err := agent.StillStopped(t.Context(), &parrot{}, s)
		require.NoError(t, err)
		require.Equal(t, why == "", still, content)
		if !still {
			require.Contains(t, plan.Skip.Why, why, content)
			require.False(t, plan.Skip.Park, content)
		}
	}
}

func TestLinesThatCannotMatterAreNotObserved(t *testing.T) {
	path := write(t, "a limit\na move\n")
	src := agent.Source{Sift: func(line []byte) agent.Weight {
		if bytes.Contains(line, []byte("limit")) {
			return agent.Matters
		}
		return agent.Nothing
	}}
	last, found, err := agent.Last(t.Context(), &parrot{}, src, path)
	require.NoError(t, err)
	require.True(t, found)
	require.IsType(t, resume.Limited{}, last.Event)
}

func TestTheSourceOfAFileIsTheOneItLiesIn(t *testing.T) {
	p := &parrot{roots: []string{"/a", "/b"}}
	require.Equal(t, "/b", agent.SourceOf(p, "/b/x/y.jsonl").Root)
	require.Equal(t, "/a", agent.SourceOf(p, "/a/..x").Root)
	require.Equal(t, "/a", agent.SourceOf(p, "/bb/y.jsonl").Root, "a stranger is read as the first's")
	require.Empty(t, agent.SourceOf(&parrot{}, "/b/y.jsonl").Root)
}

func TestWordsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "short", agent.Clip("short"))
	require.Equal(t, "bad \uFFFD", agent.Clip("bad \xff"))
	long := agent.Clip("x" + strings.Repeat("·", 2000))
	require.True(t, utf8.ValidString(long))
	require.Len(t, long, 1999+len("…"))
}
