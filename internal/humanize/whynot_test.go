package humanize_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestTheFirstQuestionThatStopsASessionIsTheAnswer(t *testing.T) {
	now := time.Date(2026, 11, 15, 13, 13, 0, 0, time.Local)
	later, earlier := now.Add(time.Hour), now.Add(-time.Minute)
	for last, v := range map[string]view.Session{
		"Was it stopped? → it was not stopped: there is nothing to resume":             {State: resume.Watching},
		"Is it paused? → it is paused: resumed unpause x ends the pause":               {State: resume.GaveUp, Paused: true, ID: "x"},
		"Can waiting help? → sign-in needed; sign in: run claude":                      {State: resume.Parked, Class: limit.Auth, Remedy: "sign in: run claude"},
		"Can it be reached? → it is open in a process that cannot be given the prompt": {State: resume.Waiting, Class: limit.UsageLimit, Unreached: "go on", NextAt: &later},
		"Must you decide? → directory /src is gone":                                    {State: resume.Parked, Class: limit.UsageLimit, Reason: "directory /src is gone"},
		"Are there tries left? → no luck; look":                                        {State: resume.GaveUp, Class: limit.UsageLimit, Reason: "no luck", Remedy: "look"},
		"Is the wait over? → it continues by itself at 14:13:00":                       {State: resume.Waiting, Class: limit.UsageLimit, NextAt: &later},
		"Is it its turn? → due, but paused":                                            {State: resume.Waiting, Class: limit.UsageLimit, NextAt: &earlier, Reason: "due, but paused"},
		"Does it work again? → it is being resumed now":                                {State: resume.Settling, Class: limit.UsageLimit},
	} {
		lines := humanize.WhyNot(v, now).Lines
		require.Equal(t, last, humanize.ReasonAt(lines[len(lines)-1], now))
		for _, passed := range lines[:len(lines)-1] {
			require.NotContains(t, passed, "→")
		}
	}
}
