package transcript

import (
	"bytes"
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// spent is the record in which Claude Code counts, when it ends, what a session has cost:
// all of it, also what came before. 2.1.325 writes it, 2.1.197 does not.
type spent struct {
	Type string  `json:"type"`
	USD  float64 `json:"totalCostUSD"`
	API  int64   `json:"totalAPIDuration"` // milliseconds
	Tool int64   `json:"totalToolDuration"`
}

var quotedCost = []byte(`"cost-state"`)

// maxCostLines bounds how far back it is looked for.
const maxCostLines = 20_000

// Cost returns what the session of that transcript has cost until now.
func Cost(ctx context.Context, path string) (cost resume.Cost, known bool, err error) {
	visited := 0
	err = agent.LinesBack(ctx, path, func(line agent.Line) bool {
		visited++
		if bytes.Contains(line.Data, quotedCost) {
			if r, ok := agent.Parse[spent](line.Data); ok && r.Type == "cost-state" && r.USD >= 0 {
				work := time.Duration(max(0, r.API)+max(0, r.Tool)) * time.Millisecond
				cost, known = resume.Cost{USD: r.USD, Work: work, Read: line.Offset}, true
			}
		}
		return !known && visited < maxCostLines
	})
	return cost, known, err
}
