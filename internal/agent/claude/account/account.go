// Package account knows in whose name a session of Claude Code asks: who is signed in, which
// key decides, and what the account was told of its allowances.
package account

import (
	"time"

	"resumed/internal/agent"
)

// Account knows it of the sessions in an agent's homes.
type Account struct {
	of    *agent.Transcripts
	usage agent.Settings[cached]
}

// New returns that of an agent.
func New(of *agent.Transcripts) *Account { return &Account{of: of} }

// cached is what Claude Code last was told of the account's allowances, in percent. It
// asks when somebody looks at them (/usage), and keeps the answer in .claude.json.
type cached struct {
	FetchedAt   int64 `json:"fetchedAtMs"`
	Utilization struct {
		FiveHour allowance `json:"five_hour"`
		SevenDay allowance `json:"seven_day"`
	} `json:"utilization"`
}

type allowance struct {
	Used     float64   `json:"utilization"`
	ResetsAt time.Time `json:"resets_at"`
}
