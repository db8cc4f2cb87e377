package resume

import (
	"encoding/json"
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
	tally := Tally{Watching: 7, Waiting: 3, Parked: 2}
	require.Equal(t, 5, tally.Interrupted())
	require.Equal(t, 12, tally.Known())
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
	s.Origin.Through, s.Origin.Shown = []string{"KEY=secret"}, []string{"KEY=…"}
	require.Equal(t, []string{"KEY=…", "--settings"}, s.Shown([]string{"KEY=secret", "--settings"}), "fewer words are stored")
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

func TestWhatIsLearnedOfASession(t *testing.T) {
	w := newWalk().do(Learned{Origin: &Origin{Program: Program{Path: "/bin/claude"}}, Kind: Headless}, Learned{})
	require.Equal(t, "/bin/claude", w.Program().Path, "nothing new takes nothing back")
	require.Equal(t, Headless, w.Kind)
	require.Equal(t, Interactive, w.do(Learned{Kind: Interactive}).Kind)
	require.Equal(t, Interactive, w.do(Learned{Kind: Headless}).Kind, "whatever continued it since")

	w = newWalk().do(limited(noon, limit.Overloaded), Progressed{At: noon})
	require.Equal(t, WentOn, w.Reason)
	require.Equal(t, WentOn, w.do(Learned{Subagents: &[]Subagent{}}).Reason)
	for want, a := range map[string]Subagent{
		"7": {ID: "7"}, "Explore": {ID: "7", Kind: "Explore"}, "look": {ID: "7", About: "look"}, "look (Explore)": {ID: "7", About: "look", Kind: "Explore"},
	} {
		require.Equal(t, want, a.named())
	}
}

func TestAResumeThatWasNotSentIsRecalled(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).after(time.Minute).do(Due{Mark: "m"})
	require.Equal(t, Resuming, w.State)
	require.Equal(t, 1, w.Runs)
	w.do(Pause{})
	require.Equal(t, Waiting, w.State)
	require.Nil(t, w.Run)
	require.Empty(t, w.Attempts)
	w.do(Unpause{}, Due{Mark: "m2"}, Started{Mark: "m2", Process: Process{PID: 7}}, Pause{})
	require.Equal(t, Resuming, w.State, "it is too late")
	require.Equal(t, 2, w.Runs)
	require.Equal(t, Watching, newWalk().do(Pause{}).State)
}

func TestWhatHoldsASessionBackIsForgottenWithItsReason(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded), HeldBack{Why: "others go first", Until: noon.Add(time.Hour)})
	require.Equal(t, noon.Add(time.Hour), w.ResumesAt())
	w.do(Learned{Kind: Headless})
	require.NotNil(t, w.Blocked, "that has nothing to do with it")
	w.do(Retry{})
	require.Nil(t, w.Blocked)
}

func TestAWordForASessionWhoseStartWasNotSeen(t *testing.T) {
	seen := newWalk().do(Prompted{At: noon}, Learned{Origin: &Origin{SeenAt: noon, ArgsSeen: true, EnvSeen: true}}, limited(noon, limit.Auth))
	require.Nil(t, seen.do(Retry{}).Allowed, "nothing was missing")
	unseen := func() *walk { return newWalk().do(limited(noon, limit.Auth)) }
	require.NotNil(t, unseen().do(Retry{}).Allowed)
	require.Nil(t, unseen().do(Retry{By: "laptop"}).Allowed, "only its own user may say so")
}

func TestResumesOfTheInterruptionBeforeStay(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).resume().after(time.Second).do(Progressed{At: noon.Add(time.Minute)}).end(Delivered)
	require.Len(t, w.Past, 1)
	w.after(time.Minute).do(limited(w.now, limit.Overloaded), Prompted{At: w.now})
	require.Len(t, w.Past, 1, "the next interruption had none")

	w = newWalk().do(Prompted{At: noon})
	require.Equal(t, Watching, w.denied(Ended{Mark: "m", Outcome: Denied}, noon).State)
}

func TestBoundsOfTheRules(t *testing.T) {
	w := newWalk()
	w.rules.MaxWait = time.Hour
	require.Equal(t, Waiting, w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))).State)
	require.Equal(t, 1, w.Windows)
	require.Equal(t, 1, w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour+SameWindow))).Windows, "the same window")
	require.Equal(t, 2, w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour+2*SameWindow+1))).Windows)

	for windows, want := range map[int]State{0: Waiting, 1: Parked, 2: Waiting} {
		w := working(ResumeCutOff)
		w.CutOffs, w.rules.MaxWindows = 1, windows
		require.Equal(t, want, w.dies(Killed).State, windows)
	}

	w = newWalk()
	w.rules.ByClass = ridingOut(t).ByClass
	w.rules.Backoff.MaxRetries = 0
	require.False(t, w.do(limited(noon, limit.Overloaded)).resume().end(Failed).Reported, "no number of tries is too many")

	rules := Rules{MaxColdTokens: 100, OnCold: ParkCold}
	require.Empty(t, rules.TooCold(Session{Context: Context{Tokens: 100}}, noon))
	require.NotEmpty(t, rules.TooCold(Session{Context: Context{Tokens: 101}}, noon))
	for name, c := range map[string]Context{
		"no size": {At: noon, Warm: time.Minute}, "no time": {Tokens: 7, Warm: time.Minute}, "not how long": {Tokens: 7, At: noon},
	} {
		_, known := Session{Context: c}.Cold(noon)
		require.False(t, known, name)
	}
	cold, known := Session{Context: Context{Tokens: 7, At: noon, Warm: time.Minute}}.Cold(noon.Add(time.Minute))
	require.Equal(t, []bool{false, true}, []bool{cold, known})

	used := Usage{WeekUsed: 100, WeekResetsAt: noon.Add(time.Hour)}
	why, _ := Rules{}.ReservedBy(used, Session{}, noon)
	require.Empty(t, why, "nothing is reserved")
	why, _ = Rules{WeeklyReserve: 1}.ReservedBy(used, Session{}, noon)
	require.NotEmpty(t, why)

	require.True(t, ValidRecordTime(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.False(t, ValidRecordTime(time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)))
}

// A refusal that is read long after its reset was missed, if a person wants to be asked then.
func TestARefusalThatIsReadLate(t *testing.T) {
	late := func(overdue, age time.Duration) *walk {
		w := newWalk()
		w.rules.Overdue, w.rules.Lookback = overdue, 100*time.Hour
		return w.after(age).do(limitedUntil(noon.Add(-time.Hour), limit.UsageLimit, noon))
	}
	require.True(t, late(24*time.Hour, 24*time.Hour).MissedAt.IsZero())
	w := late(24*time.Hour, 24*time.Hour+1)
	require.Equal(t, noon, w.MissedAt)
	require.Equal(t, noon, w.do(Reconsider{}).MissedAt)
	w.rules.Overdue = 0
	require.True(t, w.do(Reconsider{}).MissedAt.IsZero(), "by other rules it is resumed")
	require.True(t, late(0, 48*time.Hour).MissedAt.IsZero())
}

func TestHowStatesAndOutcomesAreWritten(t *testing.T) {
	require.Equal(t, "parked", Parked.String())
	require.Equal(t, "state(7)", (Parked + 1).String())
	require.Equal(t, "state(0)", State(0).String())
	for how, want := range map[Outcome]string{"": "null", Failed: `"failed"`} {
		text, err := json.Marshal(how)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	cut := limit.Verdict{Class: limit.CutOff}
	require.Equal(t, "was killed", describe(cut, "was killed"))
	require.Equal(t, limit.CutOff.Title(), describe(cut, ""))
}
