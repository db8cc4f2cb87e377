package claude

import (
	"strconv"

	"resumed/internal/agent/claude/startup"
)

// budgetFlag bounds what a run without a terminal spends. The request during which the sum
// is reached still ends.
const budgetFlag = "--max-budget-usd"

// bounded returns the arguments that bound what a run spends. A session that was started
// with a smaller bound of its own has that.
func bounded(carried []string, most float64) []string {
	if most <= 0 {
		return nil
	}
	own, err := strconv.ParseFloat(startup.Flags.Parse(carried).Value(budgetFlag), 64)
	if err == nil && own <= most {
		return nil
	}
	return []string{budgetFlag, strconv.FormatFloat(most, 'f', 2, 64)}
}
