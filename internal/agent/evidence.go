package agent

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/lines"
	"resumed/internal/resume"
)

// MarkVariable contains the mark of a resumed command, which tells its processes from those of
// people.
const MarkVariable = resume.MarkVariable

// Evidence is an observation and the offset of the line it was read from.
type Evidence struct {
	resume.Observation
	Offset int64
	Leave  string // why nothing is done about it, whatever the rules say; empty: the rules decide
}

// Back visits the evidence in a file from its end backwards, until visit returns false.
func Back(ctx context.Context, a Reader, src Source, path string, visit func(Evidence) bool) error {
	return lines.Back(ctx, path, func(line lines.Line) bool {
		if src.Sift != nil && src.Sift(line.Data) == Nothing {
			return true
		}
		observation, ok := a.Observe(src, line)
		if _, aside := observation.Event.(resume.SubagentEnded); aside {
			return true // it says nothing about the session itself
		}
		return !ok || visit(Evidence{Observation: observation, Offset: line.Offset})
	})
}

// Last returns the last evidence in a file, which decides the state of the session. It returns
// false if there is none.
func Last(ctx context.Context, a Reader, src Source, path string) (last Evidence, found bool, err error) {
	err = Back(ctx, a, src, path, func(e Evidence) bool {
		last, found = e, true
		return false
	})
	return last, found, err
}

// SourcesOf returns the sources of a Reader; a Follower has none.
func SourcesOf(a Agent) []Source {
	if reader, ok := a.(Reader); ok {
		return reader.Sources()
	}
	return nil
}

// Watches reports whether path is in one of the agent's sources. For a Follower any path is
// accepted.
func Watches(a Agent, path string) bool {
	_, follows := a.(Follower)
	return follows || slices.ContainsFunc(SourcesOf(a), func(src Source) bool { return src.has(path) })
}

// SourceOf returns the agent's source that contains path. A file from elsewhere is read as if it
// were in the agent's first source.
func SourceOf(a Reader, path string) Source {
	sources := a.Sources()
	for _, src := range sources {
		if src.has(path) {
			return src
		}
	}
	if len(sources) == 0 {
		return Source{}
	}
	return sources[0]
}

// has reports whether path is in the source.
func (s Source) has(path string) bool {
	rel, err := filepath.Rel(s.Root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// SiftByType returns a Sift for records with a field type. The listed types are Moves or Matters,
// all others are Nothing. If the type is not near either end of the line, the types that the line
// contains decide: quotes within a JSON string are escaped, so a type in quotes is found only as a
// name or a value of the record.
func SiftByType(moves, matters []string) func(line []byte) Weight {
	weights := make(map[string]Weight)
	for _, name := range moves {
		weights[name] = Moves
	}
	for _, name := range matters {
		weights[name] = Matters
	}
	return func(line []byte) (weight Weight) {
		if kind, known := lines.TextAtEnds(line, "type"); known {
			return weights[string(kind)]
		}
		for name, w := range weights {
			if w > weight && bytes.Contains(line, []byte(`"`+name+`"`)) {
				weight = w
			}
		}
		return weight
	}
}

// maxText is how many bytes of an agent's text are stored for people.
const maxText = 2000

// Clip shortens an agent's text, never within a character.
func Clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
