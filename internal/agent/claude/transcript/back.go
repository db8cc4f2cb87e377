package transcript

import (
	"context"
	"math"

	"resumed/internal/agent"
)

// maxBackLines bounds how far back something is looked for: in one long turn there may be many
// records.
const maxBackLines = 20_000

// endOf is the place of the line after the last one of a transcript.
func endOf(path string) agent.Line { return agent.Line{Path: path, Offset: math.MaxInt64} }

// lookBack visits the records of the main conversation before a line, the last first, until
// read returns false. may reports by the bytes of a line whether it is worth parsing.
func lookBack(ctx context.Context, before agent.Line, may func(line []byte) bool, read func(record, agent.Line) bool) error {
	visited := 0
	return agent.LinesBefore(ctx, before, func(line agent.Line) bool {
		visited++
		if line.Cut || !may(line.Data) {
			return visited < maxBackLines
		}
		r, ok := parse(line.Data)
		return (!ok || r.IsSidechain || read(r, line)) && visited < maxBackLines
	})
}
