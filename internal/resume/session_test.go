package resume

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestWhenAWaitingSessionIsResumed(t *testing.T) {
	s := Session{Interruption: Interruption{NextAt: noon}}
	require.Equal(t, noon, s.ResumesAt())
	s.Blocked = &Blocked{Until: noon.Add(time.Hour)}
	require.Equal(t, noon.Add(time.Hour), s.ResumesAt())
	s.Blocked = &Blocked{}
	require.Equal(t, noon, s.ResumesAt())
}

func TestSessionsAreCounted(t *testing.T) {
	tally := Tally{Watching: 5, Waiting: 3, Parked: 2}
	require.Equal(t, 5, tally.Interrupted())
	require.Equal(t, 10, tally.Known())
}

func TestResumesOfEarlierInterruptionsAreKnown(t *testing.T) {
	s := Session{}
	require.True(t, s.LastResume().IsZero())
	s.Past = []Attempt{{N: 1, Mark: "a", StartedAt: noon.Add(-time.Hour)}, {N: 2, Mark: "b", StartedAt: noon}}
	require.Equal(t, noon, s.LastResume())
	s.Attempts = []Attempt{{N: 1, Mark: "c", StartedAt: noon.Add(time.Hour)}}
	require.Equal(t, noon.Add(time.Hour), s.LastResume())
	a, found := s.Tried("b")
	require.True(t, found)
	require.Equal(t, 2, a.N)
	_, found = s.Tried("d")
	require.False(t, found)
}

// Another file of the session may be a copy.
func TestWhichFileOfASessionIsOld(t *testing.T) {
	s := Session{State: Waiting, Account: "a", Seen: Position{Epoch: "one"}, LimitedAt: noon, MovedAt: noon.Add(-time.Minute)}
	works := s
	works.State = Watching
	at := func(epoch, account string, ev Event) Observation {
		return Observation{Pos: Position{Epoch: epoch}, Account: account, Event: ev}
	}
	for name, c := range map[string]struct {
		s    Session
		seen Observation
		want bool
	}{
		"the same file":                       {s, at("one", "a", Progressed{At: noon.Add(-time.Hour)}), false},
		"another one that is older":           {s, at("two", "a", Progressed{At: noon.Add(-1)}), true},
		"a newer one":                         {s, at("two", "a", Progressed{At: noon.Add(1)}), false},
		"one without a time":                  {s, at("two", "a", Progressed{}), false},
		"the refusal that it waits for":       {s, at("two", "a", Limited{At: noon}), false},
		"that refusal, by an unknown account": {s, at("two", "", Limited{At: noon}), false},
		"that refusal in another account":     {s, at("two", "b", Limited{At: noon}), true},
		"that refusal, and it works again":    {works, at("two", "a", Limited{At: noon}), true},
		"other news of that moment":           {s, at("two", "a", Progressed{At: noon}), true},
	} {
		require.Equal(t, c.want, c.s.IsNewerThan(c.seen), name)
	}
}

func TestSecretsOfACommandLineAreNotShown(t *testing.T) {
	argv := []string{"claude", "--resume", "4f2a", "--settings", "secret"}
	s := Session{}
	require.Equal(t, argv, s.Shown(argv))
	s.Origin = &Origin{Args: []string{"--settings", "secret"}}
	require.Equal(t, argv, s.Shown(argv))
	s.Origin.Shown = []string{"--settings", "…"}
	require.Equal(t, []string{"claude", "--resume", "4f2a", "--settings", "…"}, s.Shown(argv))
	s.Origin.Through, s.Origin.Shown = []string{"env", "KEY=secret"}, []string{"env", "KEY=…"}
	require.Equal(t, []string{"env", "KEY=…", "--settings"}, s.Shown([]string{"env", "KEY=secret", "--settings"}), "fewer words are stored")
}

func TestTimesThatCannotBeStored(t *testing.T) {
	far := time.Date(12_000, 1, 1, 0, 0, 0, 0, time.UTC)
	learned := Bounded(Learned{Context: &Context{Tokens: 7, At: far}, Usage: &Usage{At: far, WeekUsed: 0.5, WeekResetsAt: far, Lifts: far}}).(Learned)
	for _, at := range []time.Time{learned.Context.At, learned.Usage.At, learned.Usage.WeekResetsAt, learned.Usage.Lifts} {
		require.True(t, FitsJSON(at))
	}
	require.Equal(t, int64(7), learned.Context.Tokens)
	require.InDelta(t, 0.5, learned.Usage.WeekUsed, 0)
	require.Equal(t, Learned{}, Bounded(Learned{}))

	require.True(t, FitsJSON(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.True(t, FitsJSON(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)))
	require.False(t, FitsJSON(time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC)))
	require.False(t, FitsJSON(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func TestRankOfADirectory(t *testing.T) {
	r := Rules{Priority: []Priority{{"/src", 3}, {"/src/shop", 1}, {"/", 9}}}
	require.Equal(t, 1, r.Rank("/src/shop/web"))
	require.Equal(t, 3, r.Rank("/src/blog"))
	require.Equal(t, 9, r.Rank("/home"))
	require.Equal(t, math.MaxInt, Rules{}.Rank("/src"))
	require.Equal(t, 1, Rules{Priority: []Priority{{"/src", 1}, {"/src", 2}}}.Rank("/src"), "the first one of two")
}

func TestWhoTakesThePlaceOfASession(t *testing.T) {
	for name, c := range map[string]struct {
		rules               Rules
		interactive, script bool
	}{
		"a person's, by default":          {Rules{Newcomers: InteractiveNewcomers}, true, false},
		"any":                             {Rules{Newcomers: AnyNewcomer}, true, true},
		"none":                            {Rules{Newcomers: NoNewcomer}, false, false},
		"none, where several work as one": {Rules{Newcomers: AnyNewcomer, Parallel: map[string]bool{"bot": true}}, false, false},
	} {
		require.Equal(t, c.interactive, c.rules.Replaces("bot", Interactive), name)
		require.Equal(t, c.script, c.rules.Replaces("bot", Headless), name)
	}
}

func TestWhatADaemonThatWasAwayHasMissed(t *testing.T) {
	r := defaultRules()
	r.Overdue = time.Hour
	due := Session{State: Waiting, Interruption: Interruption{NextAt: noon}}
	long := noon.Add(time.Hour + 1)
	require.True(t, due.Missed(time.Time{}, r, long))
	require.False(t, due.Missed(time.Time{}, r, noon.Add(time.Hour)), "not long ago")
	require.False(t, due.Missed(noon.Add(time.Minute), r, long), "a daemon ran until then")
	for name, change := range map[string]func(*Session, *Rules){
		"nobody wants to know":    func(_ *Session, r *Rules) { r.Overdue = 0 },
		"a person is asked":       func(s *Session, _ *Rules) { s.State = Parked },
		"a person has asked":      func(s *Session, _ *Rules) { s.RetryAskedAt = noon },
		"it is due in the future": func(s *Session, _ *Rules) { s.NextAt = long },
	} {
		s, r := due, r
		change(&s, &r)
		require.False(t, s.Missed(time.Time{}, r, long), name)
	}

	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)))
	w.rules = r
	due1 := w.NextAt
	w.after(3 * time.Hour).do(CameBack{Since: noon})
	require.Equal(t, due1, w.MissedAt)
}

func TestTimeAsleepIsNoTimeToSettle(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).resume().after(time.Second).end(Delivered)
	require.Equal(t, Settling, w.State)
	until := w.NextAt
	w.after(time.Hour).do(Slept{For: time.Hour - time.Second})
	require.Equal(t, until.Add(time.Hour-time.Second), w.NextAt)
	w.do(Slept{For: 2 * time.Hour})
	require.Equal(t, w.now.Add(w.rules.Settle), w.NextAt, "not from a time that is yet to come")
	w = newWalk().do(limited(noon, limit.Overloaded))
	before := w.Session
	require.Equal(t, before, w.do(Slept{For: time.Hour}).Session, "a wait ends when it ends")
}

func TestWhetherARetryIsEarly(t *testing.T) {
	s := newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))).Session
	require.True(t, s.Early(noon))
	require.False(t, s.Early(noon.Add(time.Hour)))
	for name, change := range map[string]func(*Session){
		"it works":                       func(s *Session) { s.State = Watching },
		"a task":                         func(s *Session) { s.Task = &Task{} },
		"it waits after a retry too":     func(s *Session) { s.Needs = StartUnseen },
		"the provider has named no time": func(s *Session) { s.Limit.Reset = limit.Reset{} },
	} {
		s := s
		change(&s)
		require.False(t, s.Early(noon), name)
	}
}

func TestWordsOfASession(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Auth), Retry{By: "laptop"})
	require.Equal(t, "due now, asked for by machine laptop", w.Reason)
	require.Equal(t, "due now, asked for by you", newWalk().do(limited(noon, limit.Auth), Retry{}).Reason)

	require.Empty(t, Models{Own: "large"}.AllowedText())
	require.Equal(t, "with small if large is still overloaded (fallback_model)", Models{Own: "large", Fallback: "small"}.AllowedText())

	for d, want := range map[time.Duration]string{
		time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 71 * time.Hour: "2 days ago",
	} {
		require.Equal(t, want, ago(d))
	}
	for n, want := range map[int64]string{7: "7", 999: "999", 1000: "1 000", 123456: "123 456", 1234567: "1 234 567"} {
		require.Equal(t, want, grouped(n))
	}

	stopped := []Subagent{{About: "a", Class: limit.UsageLimit}, {About: "b"}, {About: "c"}, {About: "d"}, {About: "e", Class: limit.Overloaded}}
	require.Contains(t, SubagentsStopped(stopped), "5 subagents were stopped by provider overloaded: ")
	require.Contains(t, SubagentsStopped(stopped), ", 2 more")
	require.NotContains(t, SubagentsStopped(stopped[:3]), "more")
	require.Contains(t, SubagentsStopped(stopped[:1]), "1 subagent was stopped by usage limit: ")
	require.Empty(t, SubagentsStopped(nil))
}

func TestTheModelThatContinuedIsNamed(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded))
	w.resume().Session = w.models(Models{Own: "large", Fallback: "small"})
	w.after(time.Second).do(Progressed{At: w.now, Model: "small"})
	require.Equal(t, Watching, w.State)
	require.Contains(t, w.Reason, "works again after 1 resume, ")
	require.Contains(t, w.Reason, "small")
	require.Equal(t, "small", w.Model)
}
