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

// Cost returns what the session of that transcript has cost until now.
func Cost(ctx context.Context, path string) (cost resume.Cost, known bool, err error) {
	may := func(line []byte) bool { return bytes.Contains(line, []byte(costState)) }
	err = lookBack(ctx, endOf(path), may, func(r record, line agent.Line) bool {
		if known = r.Type == costState && r.CostUSD >= 0; known {
			work := time.Duration(max(0, r.APIDuration)+max(0, r.ToolDuration)) * time.Millisecond
			cost = resume.Cost{USD: r.CostUSD, Work: work, Read: line.Offset}
		}
		return !known
	})
	return cost, known, err
}
