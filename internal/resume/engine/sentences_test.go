package engine

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

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// The reasons of a session that people read, in each situation of a night. A reader who does not know
// the code must understand them.
func TestWhatPeopleReadInANight(t *testing.T) {
	reset := noon.Add(time.Hour)
	usage := limitedUntil(noon, limit.UsageLimit, reset)
	usage.Text = "You've hit your 5-hour limit · resets 1pm (UTC)"
	outage := limited(noon, limit.Overloaded)
	outage.Text = "API Error: 529 Overloaded"
	held := resume.Occupied{Owner: resume.Owner{PID: 7, Kind: resume.Interactive}}
	large := resume.Learned{Context: &resume.Context{Tokens: 180_500, At: noon.Add(-time.Hour), Warm: 5 * time.Minute}}
	with := func(change func(*resume.Rules), events ...resume.Event) *walk {
		w := newWalk()
		w.Name = "4f2a"
		change(&w.rules)
		return w.do(events...)
	}
	plain := func(events ...resume.Event) *walk { return with(func(*resume.Rules) {}, events...) }
	rides := func(r *resume.Rules) {
		r.Backoff.MaxRetries = 2
		p := r.Backoff
		p.MaxRetries, p.MaxElapsed = 0, 12*time.Hour
		r.ByClass = map[limit.Class]resume.Policy{limit.Overloaded: {Policy: p}}
	}
	tried := func(w *walk, times int) *walk {
		for range times {
			w = w.resume().end(resume.Failed)
		}
		return w
	}
	boom := plain(usage).resume()
	boom.do(resume.Ended{Mark: boom.Run.Mark, Outcome: resume.Failed, Err: "exit status 3: boom: cannot connect"})
	cold := with(func(r *resume.Rules) { r.MaxColdTokens, r.OnCold = 100_000, resume.ParkCold }, usage, large)
	cold.now = cold.NextAt

	all := map[string]string{
		"a usage limit":                             sentence.Of(plain(usage).Session),
		"an outage":                                 sentence.Of(with(rides, outage).Session),
		"an outage that lasts, told once":           sentence.Of(tried(with(rides, outage), 3).Session),
		"a resume that failed by itself":            sentence.Of(boom.Session),
		"no more tries":                             sentence.Of(tried(plain(limited(noon, limit.RateLimit)), 5).Session),
		"a resume that would read too much, parked": sentence.Of(cold.do(resume.Due{Mark: "m1"}).Session),
		"a resume that will read much, told":        sentence.Of(with(func(r *resume.Rules) { r.MaxColdTokens, r.OnCold = 100_000, resume.TellCold }, usage, large).Session),
		"closed by its user, and left":              sentence.Of(with(func(r *resume.Rules) { r.Closed = resume.LeaveClosed }, usage, held, resume.Released{Closed: true}).Session),
		"closed by its user, and continued":         sentence.Of(plain(usage, held, resume.Released{Closed: true}).Session),
		"the last of the week":                      sentence.Of(with(func(r *resume.Rules) { r.WeeklyReserve = 10 }, usage, resume.Learned{Usage: &resume.Usage{At: noon, WeekUsed: 93, WeekResetsAt: noon.Add(50 * time.Hour)}}).Session),
		"a person went on elsewhere":                sentence.Of(plain(usage, resume.Superseded{By: resume.Key{Agent: "claude-code", ID: "77aa"}}).Session),
		"a reset that is too far away":              sentence.Of(plain(limitedUntil(noon, limit.UsageLimit, noon.Add(900*time.Hour))).Session),
		"asked for by a person":                     sentence.Of(plain(usage, resume.Retry{}).Session),
		"cancelled by a person":                     sentence.Of(plain(usage, resume.Forget{}).Session),
		"stopped by a person":                       sentence.Of(plain(usage, resume.Cancelled{}).Session),
		"it went on by itself":                      sentence.Of(plain(usage, resume.Progressed{At: noon.Add(time.Minute)}).Session),
		"it works again":                            sentence.Of(plain(usage).resume().after(time.Minute).do(resume.Progressed{At: noon.Add(2 * time.Hour)}).Session),
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

// heldBackSentences are the reasons of sessions that are due and may not start yet.
func heldBackSentences(t *testing.T) map[string]string {
	all := make(map[string]string)
	for name, change := range map[string]func(*resume.Rules){
		"due, and another one of its account tries":  func(r *resume.Rules) { r.MaxConcurrent = 5 },
		"due, and as many run as are wanted":         func(r *resume.Rules) { r.MaxConcurrent = 1 },
		"due, and another one was told when it ends": func(r *resume.Rules) { r.MaxConcurrent = 5 },
	} {
		synctest.Test(t, func(t *testing.T) {
			rules := defaultRules()
			rules.Margin, rules.Stagger = 0, 0
			change(&rules)
			w := newWorld(t, rules, func(ctx context.Context, _ *world, _ resume.Session) { <-ctx.Done() })
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
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			all[name] = sentence.Of(w.session("waits"))
			w.stop()
		})
	}
	return all
}
