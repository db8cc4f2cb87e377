package transcript

import (
	"bytes"
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// costState is the type of the record in which Claude Code counts, when it ends, what a session
// has cost: all of it, also what came before. 2.1.325 writes it, 2.1.197 does not.
const costState = "cost-state"

// maxCostLines bounds how far back it is looked for.
const maxCostLines = 20_000

// Cost returns what the session of that transcript has cost until now.
func Cost(ctx context.Context, path string) (cost resume.Cost, known bool, err error) {
	visited := 0
	err = agent.LinesBack(ctx, path, func(line agent.Line) bool {
		visited++
		if bytes.Contains(line.Data, []byte(costState)) {
			if r, ok := parse(line.Data); ok && r.Type == costState && r.CostUSD >= 0 {
				work := time.Duration(max(0, r.APIDuration)+max(0, r.ToolDuration)) * time.Millisecond
				cost, known = resume.Cost{USD: r.CostUSD, Work: work, Read: line.Offset}, true
			}
		}
		return !known && visited < maxCostLines
	})
	return cost, known, err
}
