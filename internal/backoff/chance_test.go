package backoff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	draws = 100_000
	bins  = 100

	// Fair random numbers give a chi-square above this once in a thousand times, for bins - 1 degrees
	// of freedom.
	chiSquareLimit = 148.2
)

// chiSquare measures how far draws are from a uniform distribution over [low, high].
func chiSquare(all []time.Duration, low, high time.Duration) float64 {
	var counts [bins]float64
	for _, d := range all {
		i := int(float64(d-low) / float64(high-low) * bins)
		counts[min(i, bins-1)]++
	}
	expected := float64(len(all)) / bins
	var sum float64
	for _, c := range counts {
		sum += (c - expected) * (c - expected) / expected
	}
	return sum
}

func TestEveryModeIsEvenOverItsWholeRange(t *testing.T) {
	for i, mode := range JitterModes() {
		t.Run(string(mode), func(t *testing.T) {
			p := Default()
			p.JitterMode, p.JitterPercent = mode, 0.3
			want := map[JitterMode]window{
				Symmetric: {60 * sec, 42 * sec, 78 * sec},
				Additive:  {60 * sec, 60 * sec, 78 * sec},
				Full:      {60 * sec, 0, 60 * sec},
				Equal:     {60 * sec, 30 * sec, 60 * sec},
			}[mode]

			dice := rand.New(rand.NewPCG(uint64(i), 7))
			all := make([]time.Duration, draws)
			for j := range all {
				all[j] = p.Delay(2, dice.Float64())
			}
			require.GreaterOrEqual(t, slices.Min(all), want.least)
			require.LessOrEqual(t, slices.Max(all), want.most)
			require.Less(t, chiSquare(all, want.least, want.most), chiSquareLimit)
		})
	}
}

// The test above is only useful if it detects unfair random numbers.
func TestAnUnfairDiceIsSeen(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	p := Default()
	_, low, high := p.Range(1)
	for name, unfair := range map[string]func(u float64) float64{
		"leaning to one side": func(u float64) float64 { return u * (0.9 + 0.1*u) },
		"missing the end":     func(u float64) float64 { return u * 0.98 },
		"64 steps":            func(u float64) float64 { return float64(int(u*64)) / 64 },
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]time.Duration, draws)
			for i := range all {
				all[i] = p.Delay(1, unfair(dice.Float64()))
			}
			require.Greater(t, chiSquare(all, low, high), chiSquareLimit)
		})
	}
}

// A hard cap reduces the spread: all delays above the cap become the cap.
func TestHardCapGathersWhatItCutsOff(t *testing.T) {
	p := mustNamed(t, "workflow")
	dice := rand.New(rand.NewPCG(3, 4))
	var below []time.Duration
	for range draws {
		if d := p.Delay(10, dice.Float64()); d != 60*sec {
			below = append(below, d)
		}
	}
	require.Less(t, slices.Max(below), 60*sec)
	require.InDelta(t, draws/2, len(below), 1000)
	require.Less(t, chiSquare(below, 30*sec, 60*sec), chiSquareLimit)
}

const drawsVariable = "BACKOFF_TEST_PRINT_DRAWS"

// TestDrawsOfOneProcess draws with the default Rand inside a bubble: its clock shows the same time in
// every process.
func TestDrawsOfOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		for range 4 {
			for _, d := range NewSchedule(Default(), Default().MaxRetries, nil).Delays {
				require.GreaterOrEqual(t, d.Delay, d.Min)
				require.LessOrEqual(t, d.Delay, d.Max)
				seen = append(seen, fmt.Sprint(d.Delay))
			}
		}
		err := Retry(t.Context(), Default(), newFailing(-1).run, Options{OnRetry: func(u Upcoming) {
			seen = append(seen, u.Delay.String())
		}})
		require.ErrorIs(t, err, errRefused)
		if os.Getenv(drawsVariable) != "" {
			fmt.Println("draws:", strings.Join(seen, " "))
		}
	})
}

// Random numbers that are seeded by the clock would be equal here: both processes have the same time.
func TestTwoProcessesOfOneNanosecondDoNotShareJitter(t *testing.T) {
	var printed [2][]string
	var group sync.WaitGroup
	for i := range printed {
		group.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDrawsOfOneProcess$", "-test.count=1")
			cmd.Env = append(os.Environ(), drawsVariable+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("run the other process: %v\n%s", err, out)
				return
			}
			for line := range bytes.Lines(out) {
				if rest, ok := strings.CutPrefix(string(line), "draws: "); ok {
					printed[i] = strings.Fields(rest)
				}
			}
		})
	}
	group.Wait()
	require.Len(t, printed[0], 25)
	require.Len(t, printed[1], 25)
	for i := range printed[0] {
		require.NotEqual(t, printed[0][i], printed[1][i], "draw %d", i)
	}
}
