package backoff

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of the herd into docs/backoff.md")

const (
	herd     = 1000 // clients that meet the limit at the same time
	capacity = 100  // requests that the recovering server accepts in a second

	herdDocument = "../../docs/backoff.md"
	herdBegin    = "<!-- herd: begin -->\n"
	herdEnd      = "<!-- herd: end -->\n"
)

// client is one of the herd.
type client struct {
	retries int
	at      time.Duration // of its next request
}

// stampede lets a herd come back to a server that accepts `capacity` requests a second and refuses the
// rest, which back off again. It returns how many requests were sent until no client waited, and how
// many clients gave up.
func stampede(p Policy, dice *rand.Rand) (requests, gaveUp int) {
	waiting := make([]client, 0, herd)
	for range herd {
		waiting = again(waiting, p, client{}, dice)
	}
	for len(waiting) > 0 {
		slices.SortFunc(waiting, func(a, b client) int { return cmp.Compare(a.at, b.at) })
		second := waiting[0].at / sec
		due := 0
		for due < len(waiting) && waiting[due].at/sec == second {
			due++
		}
		requests += due
		refused := slices.Clone(waiting[min(due, capacity):due])
		waiting = waiting[due:]
		for _, c := range refused {
			if c.retries == p.MaxRetries {
				gaveUp++
				continue
			}
			waiting = again(waiting, p, c, dice)
		}
	}
	return requests, gaveUp
}

func again(waiting []client, p Policy, c client, dice *rand.Rand) []client {
	c.retries++
	c.at += p.Delay(c.retries, dice.Float64())
	return append(waiting, c)
}

// peaks returns the most arrivals in one second at each retry, if the herd is refused every time.
func peaks(p Policy, dice *rand.Rand) []int {
	bySecond := make([]map[time.Duration]int, p.MaxRetries)
	for i := range bySecond {
		bySecond[i] = map[time.Duration]int{}
	}
	for range herd {
		var at time.Duration
		for n := range p.MaxRetries {
			at += p.Delay(n+1, dice.Float64())
			bySecond[n][at/sec]++
		}
	}
	most := make([]int, p.MaxRetries)
	for i, counts := range bySecond {
		for _, c := range counts {
			most[i] = max(most[i], c)
		}
	}
	return most
}

// herdPolicies are the default policy with every jitter mode.
func herdPolicies() []struct {
	name   string
	policy Policy
} {
	with := func(change func(*Policy)) Policy {
		p := Default()
		change(&p)
		return p
	}
	return []struct {
		name   string
		policy Policy
	}{
		{"none", with(func(p *Policy) { p.Jitter = false })},
		{"symmetric ±10 % (default)", Default()},
		{"symmetric ±50 %", with(func(p *Policy) { p.JitterPercent = 0.5 })},
		{"additive +0…50 %", with(func(p *Policy) { p.JitterMode = Additive; p.JitterPercent = 0.5 })},
		{"equal", with(func(p *Policy) { p.JitterMode = Equal })},
		{"full", with(func(p *Policy) { p.JitterMode = Full })},
	}
}

func herdTable() string {
	var b strings.Builder
	b.WriteString("| jitter | retry 1 | 2 | 3 | 4 | 5 | requests sent | gave up |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, h := range herdPolicies() {
		dice := rand.New(rand.NewPCG(2026, 1))
		fmt.Fprintf(&b, "| %s |", h.name)
		for _, peak := range peaks(h.policy, dice) {
			fmt.Fprintf(&b, " %d |", peak)
		}
		requests, gaveUp := stampede(h.policy, dice)
		fmt.Fprintf(&b, " %d | %d |\n", requests, gaveUp)
	}
	return b.String()
}

// TestHerdTableIsTheDocumented simulates the herd and compares it with the
// table in the documentation; -update writes it there, -v prints it.
func TestHerdTableIsTheDocumented(t *testing.T) {
	table := herdTable()
	t.Log("\n" + table)
	text, err := os.ReadFile(herdDocument)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), herdBegin)
	require.True(t, ok)
	documented, after, ok := strings.Cut(rest, herdEnd)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(herdDocument, []byte(before+herdBegin+table+herdEnd+after), 0o644))
		return
	}
	require.Equal(t, table, documented, "run: go test ./internal/backoff -run Herd -update")
}

func TestJitterBreaksTheHerd(t *testing.T) {
	dice := rand.New(rand.NewPCG(11, 12))
	without, with := herdPolicies()[0].policy, herdPolicies()[1].policy

	for i, peak := range peaks(without, dice) {
		require.Equal(t, herd, peak, "retry %d without jitter: all in one second", i+1)
	}
	spread := peaks(with, dice)
	require.Less(t, spread[0], herd/4)
	for i := range spread[1:] {
		require.Less(t, spread[i+1], spread[i], "the herd spreads further with each retry")
	}

	requestsWithout, gaveUpWithout := stampede(without, dice)
	require.Equal(t, herd-without.MaxRetries*capacity, gaveUpWithout, "a second's worth is served each time")
	requestsWith, gaveUpWith := stampede(with, dice)
	require.Zero(t, gaveUpWith)
	require.Less(t, requestsWith, requestsWithout)
}
