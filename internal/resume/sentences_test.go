package resume

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// What people read as the reason of a session, in each situation of a night. Each
// sentence must be understood by who does not know the code.
func TestWhatPeopleReadInANight(t *testing.T) {
	reset := noon.Add(time.Hour)
	usage := limitedUntil(noon, limit.UsageLimit, reset)
	usage.Text = "You've hit your 5-hour limit · resets 1pm (UTC)"
	outage := limited(noon, limit.Overloaded)
	outage.Text = "API Error: 529 Overloaded"
	held := Occupied{Owner: Owner{PID: 7, Kind: Interactive}}
	large := Weighed{Context{Tokens: 180_500, At: noon.Add(-time.Hour), Warm: 5 * time.Minute}}
	with := func(change func(*Rules), events ...Event) *walk {
		w := newWalk()
		w.Name = "4f2a"
		change(&w.rules)
		return w.do(events...)
	}
	plain := func(events ...Event) *walk { return with(func(*Rules) {}, events...) }
	rides := func(r *Rules) {
		r.Backoff.MaxRetries = 2
		p := r.Backoff
		p.MaxRetries, p.MaxElapsed = 0, 12*time.Hour
		r.ByClass = map[limit.Class]backoff.Policy{limit.Overloaded: p}
	}
	tried := func(w *walk, times int) *walk {
		for range times {
			w = w.resume().end(Failed)
		}
		return w
	}
	boom := plain(usage).resume()
	boom.do(Ended{Mark: boom.Run.Mark, Outcome: Failed, Err: "exit status 3: boom: cannot connect"})
	cold := with(func(r *Rules) { r.MaxColdTokens, r.OnCold = 100_000, ParkCold }, usage, large)
	cold.now = cold.NextAt

	all := map[string]string{
		"a usage limit":                             plain(usage).Reason,
		"an outage":                                 with(rides, outage).Reason,
		"an outage that lasts, told once":           tried(with(rides, outage), 3).Reason,
		"a resume that failed by itself":            boom.Reason,
		"no more tries":                             tried(plain(limited(noon, limit.RateLimit)), 5).Reason,
		"a resume that would read too much, parked": cold.do(Due{Mark: "m1"}).Reason,
		"a resume that will read much, told":        with(func(r *Rules) { r.MaxColdTokens, r.OnCold = 100_000, TellCold }, usage, large).Reason,
		"closed by its user, and left":              with(func(r *Rules) { r.Closed = LeaveClosed }, usage, held, Released{Closed: true}).Reason,
		"closed by its user, and continued":         plain(usage, held, Released{Closed: true}).Reason,
		"the last of the week":                      with(func(r *Rules) { r.WeeklyReserve = 10 }, usage, Metered{Usage{At: noon, WeekUsed: 93, WeekResetsAt: noon.Add(50 * time.Hour)}}).Reason,
		"a person went on elsewhere":                plain(usage, Superseded{By: Key{"claude-code", "77aa"}}).Reason,
		"a reset that is too far away":              plain(limitedUntil(noon, limit.UsageLimit, noon.Add(900*time.Hour))).Reason,
		"asked for by a person":                     plain(usage, Retry{}).Reason,
		"cancelled by a person":                     plain(usage, Forget{}).Reason,
		"stopped by a person":                       plain(usage, Cancelled{}).Reason,
		"it went on by itself":                      plain(usage, Progressed{At: noon.Add(time.Minute)}).Reason,
		"it works again":                            plain(usage).resume().after(time.Minute).do(Progressed{At: noon.Add(2 * time.Hour)}).Reason,
	}
	maps.Copy(all, heldBackSentences(t))
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s:\n    %s\n", name, all[name])
	}
	const golden = "testdata/night.golden"
	if *updateViews {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}

// heldBackSentences are the reasons of those who are due and may not start yet.
func heldBackSentences(t *testing.T) map[string]string {
	all := make(map[string]string)
	for name, change := range map[string]func(*Rules){
		"due, and another one of its account tries":  func(r *Rules) { r.MaxConcurrent = 5 },
		"due, and as many run as are wanted":         func(r *Rules) { r.MaxConcurrent = 1 },
		"due, and another one was told when it ends": func(r *Rules) { r.MaxConcurrent = 5 },
	} {
		synctest.Test(t, func(t *testing.T) {
			rules := defaultRules()
			rules.Margin, rules.Stagger = 0, 0
			change(&rules)
			w := newWorld(t, rules, func(ctx context.Context, _ *world, _ Session) { <-ctx.Done() })
			start := time.Now()
			switch name {
			case "due, and another one was told when it ends":
				w.seeShared("told", limitedUntil(start, limit.UsageLimit, start.Add(2*time.Hour)))
				w.seeShared("waits", limited(start, limit.UsageLimit))
			case "due, and as many run as are wanted":
				w.see("first", limitedUntil(start, limit.UsageLimit, start.Add(time.Minute)))
				w.see("waits", limitedUntil(start.Add(time.Millisecond), limit.UsageLimit, start.Add(time.Minute)))
			default:
				w.seeShared("first", limitedUntil(start, limit.UsageLimit, start.Add(time.Minute)))
				w.seeShared("waits", limitedUntil(start.Add(time.Millisecond), limit.UsageLimit, start.Add(time.Minute)))
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			all[name] = w.session("waits").Reason
			w.stop()
		})
	}
	return all
}
