package fleet

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

var (
	noon  = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	three = noon.Add(3 * time.Hour)
	rules = Rules{Margin: time.Minute, Stagger: 20 * time.Second, MaxWait: 192 * time.Hour}
)

func opened() Account {
	a, _ := Account{}.Refused(Refusal{At: noon, Class: limit.UsageLimit, Reset: three, Host: "a"})
	return a
}

func probed(mark string) Account {
	a, ok := opened().Probed(Probe{Host: "b", Mark: mark, At: three.Add(time.Hour)}, false, rules)
	if !ok {
		panic("the limit is over")
	}
	return a
}

func TestAnAccountOpensForNewsAlone(t *testing.T) {
	closed := Account{State: resume.Closed, Epoch: 4, ClosedAt: noon}
	unstated, _ := Account{}.Refused(Refusal{At: noon, Host: "a"})
	for name, c := range map[string]struct {
		before Account
		told   Refusal
		opens  bool
	}{
		"the first refusal":                        {Account{}, Refusal{At: noon}, true},
		"one since it was closed":                  {closed, Refusal{At: noon.Add(1)}, true},
		"one from before it was closed":            {closed, Refusal{At: noon}, false},
		"the same window":                          {opened(), Refusal{At: noon.Add(time.Minute), Reset: three.Add(2 * time.Minute)}, false},
		"another window":                           {opened(), Refusal{At: noon.Add(time.Minute), Reset: three.Add(3 * time.Minute)}, true},
		"another window, but an older refusal":     {opened(), Refusal{At: noon, Reset: three.Add(time.Hour)}, false},
		"no time stated while one is known":        {opened(), Refusal{At: noon.Add(time.Hour)}, false},
		"no time stated once that has passed":      {opened(), Refusal{At: three.Add(time.Hour)}, true},
		"no time stated, again":                    {unstated, Refusal{At: noon.Add(time.Hour)}, false},
		"a time, where none was stated":            {unstated, Refusal{At: noon.Add(time.Hour), Reset: three}, true},
		"what the probe was told":                  {probed("m"), Refusal{At: three, Reset: three, Mark: "m"}, true},
		"what the probe before was told":           {probed("m"), Refusal{At: three.Add(time.Hour), Reset: three, Mark: "l"}, false},
		"another window while a probe runs":        {probed("m"), Refusal{At: three.Add(time.Hour), Reset: three.Add(5 * time.Hour)}, true},
		"no time stated to others of a probe":      {probed("m"), Refusal{At: three.Add(time.Hour)}, false},
		"what is refused while sessions may start": {probed("m").closed(three, rules), Refusal{At: three.Add(1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			after, opens := c.before.Refused(c.told)
			require.Equal(t, c.opens, opens)
			if !opens {
				require.Equal(t, c.before, after)
				return
			}
			require.Equal(t, resume.Open, after.State)
			require.Equal(t, c.before.Epoch+1, after.Epoch)
			require.True(t, c.told.Reset.Equal(after.Reset))
			require.Nil(t, after.Probe)
			require.Nil(t, after.Ramp, "steps start over")
		})
	}
}

func TestAProbeWaitsForResetAndMargin(t *testing.T) {
	p := Probe{Host: "b", Mark: "m", At: three.Add(time.Minute - 1)}
	_, ok := opened().Probed(p, false, rules)
	require.False(t, ok)
	_, ok = opened().Probed(p, true, rules)
	require.True(t, ok, "a person who asks gets a try")
	p.At = three.Add(time.Minute)
	a, ok := opened().Probed(p, false, rules)
	require.True(t, ok)
	require.Equal(t, resume.HalfOpen, a.State)
	require.Equal(t, opened().Epoch, a.Epoch)
	_, ok = a.closed(three, rules).Probed(p, true, rules)
	require.False(t, ok, "nothing is to be found out where nothing is limited")
	exact := opened()
	exact.Exact = true
	require.Equal(t, three, exact.Lifts(rules))
}

func TestWhatAnotherHostWasToldIsBelievedForMaxWait(t *testing.T) {
	a, _ := Account{}.Refused(Refusal{At: noon, Reset: noon.AddDate(10, 0, 0), Host: "liar"})
	require.Equal(t, noon.Add(192*time.Hour), a.Lifts(rules))
	// A host that dates its refusal in the future gains nothing.
	a.LimitedAt = noon.AddDate(1, 0, 0)
	data, err := json.Marshal(a)
	require.NoError(t, err)
	seen, err := ReadAccount(Entry{Value: data, At: noon})
	require.NoError(t, err)
	require.Equal(t, noon.Add(192*time.Hour), seen.Lifts(rules))
	require.Equal(t, "liar", seen.By)
	_, opens := seen.Refused(Refusal{At: noon.Add(time.Hour), Reset: three})
	require.True(t, opens, "the newest refusal wins")
	require.Equal(t, resume.Closed, seen.Forgotten(noon).State)
}

func TestOnlyTheHolderEndsAProbe(t *testing.T) {
	at := three.Add(2 * time.Hour)
	for _, mark := range []string{"", "other"} {
		_, ok := probed("m").Moved(mark, at, at, rules)
		require.False(t, ok)
		_, ok = probed("m").Released(mark)
		require.False(t, ok)
	}
	a, ok := probed("m").Moved("m", at, at, rules)
	require.True(t, ok)
	require.Equal(t, Account{State: resume.Closed, Epoch: 1, ClosedAt: at, Ramp: &Ramp{From: at, Size: 1, Left: 1}}, a)
	a, ok = probed("m").Released("m")
	require.True(t, ok)
	require.Equal(t, opened(), a, "the next one may try at the same reset")
	next, _ := probed("m").Refused(Refusal{At: at, Reset: at.Add(5 * time.Hour), Mark: "m"})
	_, ok = next.Moved("m", at, at, rules)
	require.False(t, ok, "its epoch is over")
}

func TestASessionThatGoesOnAfterTheResetIsAProbeThatNobodyHadToSend(t *testing.T) {
	_, ok := opened().Moved("", three.Add(time.Second), three.Add(time.Hour), rules)
	require.False(t, ok, "another model may have no limit")
	a, ok := opened().Moved("", three.Add(time.Minute), three.Add(time.Hour), rules)
	require.True(t, ok)
	require.Equal(t, resume.Closed, a.State)
}

func TestSessionsStartInGrowingSteps(t *testing.T) {
	a, now, hosts := probed("m").closed(noon, rules), noon, 1000
	for _, size := range []int{1, 2, 4, 8, 16} {
		for range size {
			var may int
			var changed bool
			a, may, changed, _ = a.Started(rules, hosts, 0.99, now)
			require.Equal(t, 1, may)
			require.True(t, changed)
		}
		_, may, changed, next := a.Started(rules, hosts, 0, now.Add(rules.Stagger-1))
		require.Zero(t, may)
		require.False(t, changed)
		require.Equal(t, now.Add(rules.Stagger), next)
		now = next
	}
	for _, share := range []float64{0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096} {
		whole, part := math.Modf(share)
		_, may, changed, _ := a.Started(rules, hosts, part-0.001, now)
		require.EqualValues(t, whole+1, may)
		require.False(t, changed, "a large step is not counted")
		_, may, _, next := a.Started(rules, hosts, part+0.001, now)
		require.EqualValues(t, whole, may)
		require.Equal(t, now.Add(rules.Stagger), next)
		now = next
	}
	_, may, _, _ := a.Started(rules, hosts, 0.99, now.Add(1000*time.Hour))
	require.Equal(t, everybody, may, "in the end there is room for all")
}

func TestStepsAreOverOnceMoreMayStartThanWantTo(t *testing.T) {
	a := probed("m").closed(noon, rules)
	_, may, changed, _ := a.Started(rules, 9, 0.99, noon.Add(rules.Stagger))
	require.Equal(t, everybody, may)
	require.False(t, changed)
	a.Ramp = &Ramp{From: noon, Size: 8, Left: 4}
	_, _, changed, _ = a.Started(rules, 9, 0.99, noon.Add(rules.Stagger))
	require.True(t, changed, "as many wanted to as did not")
	_, may, changed, _ = Account{}.Started(rules, 9, 0.99, noon)
	require.True(t, may == everybody && !changed, "nobody waits where nothing was limited")
	require.Nil(t, probed("m").closed(noon, Rules{}).Ramp, "without a stagger nobody waits for another")
}

func TestNonsenseIsReadAsALimitThatAnybodyMayTry(t *testing.T) {
	for _, text := range []string{`{"state":"half_open"}`, `{}`, `{"state":"ajar"}`, `{"state":"open","probe":{"host":"x"}}`} {
		a, err := ReadAccount(Entry{Value: []byte(text), At: noon})
		require.NoError(t, err)
		require.Equal(t, Account{State: resume.Open}, a)
	}
	_, err := ReadAccount(Entry{Value: []byte(`{"state":"closed","ramp":{"size":-1,"left":9e99}}`), At: noon})
	require.Error(t, err)
	a, err := ReadAccount(Entry{Value: []byte(`{"state":"closed","ramp":{"from":"2099-01-01T00:00:00Z","size":-1,"left":9}}`), At: noon})
	require.NoError(t, err)
	require.Equal(t, &Ramp{From: noon, Size: 1, Left: 1}, a.Ramp)
}

func TestALimitIsOverWhenItsResetIsWhetherOrNotAHostProbes(t *testing.T) {
	require.Equal(t, three.Add(rules.Margin), opened().Lifts(rules))
	require.Equal(t, three.Add(rules.Margin), probed("m").Lifts(rules))
	require.Zero(t, Account{State: resume.Closed, Reset: three}.Lifts(rules), "another host may leave a reset in an account that is not limited")
	require.Zero(t, Account{State: resume.Open}.Lifts(rules))
	far := opened()
	far.Reset, far.Exact = noon.AddDate(10, 0, 0), true
	require.Equal(t, far.Reset, far.Lifts(Rules{}), "without a bound, ten years are believed")
}

func TestWithoutAStaggerNoSessionWaitsForTheStepsOfAnotherHost(t *testing.T) {
	a := Account{State: resume.Closed, Ramp: &Ramp{From: noon, Size: 1}}
	_, may, changed, next := a.Started(Rules{}, 9, 0, noon)
	require.Equal(t, everybody, may)
	require.False(t, changed)
	require.Zero(t, next)
}

func TestAShareOfAStepIsExact(t *testing.T) {
	a := Account{State: resume.Closed, Ramp: &Ramp{From: noon, Size: counted}}
	_, may, _, next := a.Started(rules, 2*counted, 0, noon.Add(rules.Stagger))
	require.Equal(t, 1, may, "one session for each host, and no fraction that chance could add")
	require.Equal(t, noon.Add(2*rules.Stagger), next)
	_, may, _, next = a.Started(rules, 1, 0, noon.Add(16*rules.Stagger))
	require.Equal(t, everybody, may)
	require.Zero(t, next, "nothing is divided any longer")
}

func TestANoticeBelongsToTheWindowThatItsResetIsCloseTo(t *testing.T) {
	for name, c := range map[string]struct {
		account Account
		reset   time.Time
		window  time.Time
	}{
		"the same reset":                           {opened(), three, three},
		"a reset that is a little later":           {opened(), three.Add(resume.SameWindow), three},
		"a reset that is a little earlier":         {opened(), three.Add(-resume.SameWindow), three},
		"a reset that is later":                    {opened(), three.Add(resume.SameWindow + 1), three.Add(resume.SameWindow + 1)},
		"no reset, where the account has one":      {opened(), time.Time{}, three},
		"a reset, where the account has none":      {Account{}, three, three},
		"no reset, where the account has none":     {Account{}, time.Time{}, time.Time{}},
		"a reset of the day after, which is other": {opened(), three.AddDate(0, 0, 1), three.AddDate(0, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.window, c.account.Window(c.reset)) })
	}
}
