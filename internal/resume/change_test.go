package resume

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// idleSession was never stopped.
func idleSession() Session {
	at := time.Now().Round(0)
	return Session{
		Key: Key{"claude-code", "4f2a77aa-0000-4000-8000-000000000000"}, Name: "4f2a", Account: "claude-code:default", Provider: "p", Cwd: "/src/shop",
		Transcript: "/home/me/.claude/projects/-src-shop/4f2a77aa-0000-4000-8000-000000000000.jsonl", Kind: Headless,
		Seen: Position{"1f3a-2", 12345}, State: Watching, Reason: Because(WhyStoppedByUser),
		BornAt: at.Add(-time.Hour), FoundAt: at, MovedAt: at.Add(time.Second), PromptedAt: at.Add(-time.Minute),
	}
}

// fill sets a value to something other than zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("something")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_790_000_000, 5)))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	default:
		panic("nobody has thought of a " + v.Kind().String())
	}
}

// WorksOn is false if anything but the position and the time of the session changed.
func TestWorkingOnIsNothingElseThanMoving(t *testing.T) {
	for field := range reflect.TypeFor[Session]().Fields() {
		for _, before := range []Session{idleSession(), {Key: Key{"bot", "a"}, State: Watching, LimitedAt: time.Now()}} {
			after := before
			after.Seen, after.MovedAt = Position{"77-1", 9}, time.Now().Add(time.Hour)
			require.True(t, Change{Before: before, After: after}.WorksOn())
			if field.Name == "Seen" || field.Name == "MovedAt" {
				continue
			}
			fill(reflect.ValueOf(&after).Elem().FieldByIndex(field.Index))
			require.False(t, Change{Before: before, After: after}.WorksOn(), field.Name)
		}
	}
}

func TestWhatIsAStepOfASession(t *testing.T) {
	known := Session{State: Watching}
	waits := Session{State: Waiting, Reason: Because(WhyStopped), Interruption: Interruption{NextAt: noon}}
	with := func(s Session, change func(*Session)) Session { change(&s); return s }
	for name, c := range map[string]struct {
		Change
		want bool
	}{
		"it is found":                 {Change{After: known}, false},
		"it is found stopped":         {Change{After: waits}, true},
		"nothing changed":             {Change{Before: waits, After: waits}, false},
		"it goes on":                  {Change{Before: with(waits, func(s *Session) { s.Reason = Reason{} }), After: known}, true},
		"it waits longer":             {Change{Before: waits, After: with(waits, func(s *Session) { s.NextAt = noon.Add(1) })}, true},
		"a time that is not awaited":  {Change{Before: known, After: with(known, func(s *Session) { s.NextAt = noon })}, false},
		"it waits for another reason": {Change{Before: waits, After: with(waits, func(s *Session) { s.Reason = Because(WhyHours) })}, true},
		"subagents of one that waits": {Change{Before: waits, After: with(waits, func(s *Session) { s.Subagents = []Subagent{{ID: "a"}} })}, false},
		"subagents that it is about": {Change{
			Before: Session{State: Watching, Reason: Because(WhySubagents), Subagents: []Subagent{{ID: "a"}}},
			After:  Session{State: Watching, Reason: Because(WhySubagents), Subagents: []Subagent{{ID: "a"}, {ID: "b"}}},
		}, true},
		"an old refusal is read while it is resumed": {Change{
			Before: Session{State: Resuming, Reason: Because(WhyStopped)},
			After:  Session{State: Resuming, Reason: Because(WhyStopped), Interruption: Interruption{LimitText: "try later"}},
		}, false},
		"its command has started": {Change{Event: Started{}, Before: waits, After: with(waits, func(s *Session) { s.State = Resuming })}, false},
	} {
		require.Equal(t, c.want, c.Stepped(), name)
	}
}

func TestWhichInterruptionsAreDeclined(t *testing.T) {
	known := Session{State: Watching}
	old := Session{State: Watching, LimitedAt: noon}
	excluded := Session{State: Watching, Reason: Because(WhyExcluded)}
	for name, c := range map[string]struct {
		Change
		want bool
	}{
		"too old":                   {Change{Event: Limited{}, Before: known, After: old}, true},
		"in an excluded directory":  {Change{Event: Limited{}, Before: known, After: excluded}, true},
		"not what was known before": {Change{Event: Limited{}, Before: old, After: old}, false},
		"not one that gets a wait":  {Change{Event: Limited{}, Before: known, After: Session{State: Waiting, LimitedAt: noon}}, false},
		"not a session that waited": {Change{Event: Limited{}, Before: Session{State: Waiting}, After: old}, false},
		"not movement":              {Change{Event: Progressed{}, Before: known, After: old}, false},
	} {
		require.Equal(t, c.want, c.Declined(), name)
	}
}

// A resume is sent, and given to the agent, with exactly one step.
func TestWhichStepSendsAResume(t *testing.T) {
	claimed := Session{State: Resuming, Run: &Run{Mark: "m"}}
	runs := Session{State: Resuming, Run: &Run{Mark: "m", Process: Process{PID: 7}}}
	typed := Session{State: Resuming, Run: &Run{Mark: "m", Unverifiable: true}}
	moved := Session{State: Watching, Run: &Run{Mark: "m"}}
	for name, c := range map[string]struct {
		Change
		sent, given bool
	}{
		"its command starts":                   {Change{Event: Started{Mark: "m"}, Before: claimed, After: runs}, true, true},
		"it is about to be typed":              {Change{Event: Started{Mark: "m", Unverifiable: true}, Before: claimed, After: runs}, true, false},
		"its command did not start":            {Change{Event: Started{Mark: "m"}, Before: claimed, After: claimed}, false, false},
		"nothing is left of it":                {Change{Event: Started{Mark: "m"}, Before: claimed}, false, false},
		"it is told twice":                     {Change{Event: Started{Mark: "m"}, Before: runs, After: runs}, false, false},
		"there is none":                        {Change{Event: Ended{Mark: "m", Outcome: Delivered}}, false, false},
		"it was handed over without a command": {Change{Event: Ended{Mark: "m", Outcome: Delivered}, Before: claimed}, true, true},
		"its command ends":                     {Change{Event: Ended{Mark: "m", Outcome: Delivered}, Before: runs}, false, false},
		"it failed":                            {Change{Event: Ended{Mark: "m", Outcome: Failed}, Before: claimed}, false, false},
		"the end of another one":               {Change{Event: Ended{Mark: "n", Outcome: Delivered}, Before: claimed}, false, false},
		"the session has moved before":         {Change{Event: Ended{Mark: "m", Outcome: Delivered}, Before: moved}, false, false},
		"typing ends well":                     {Change{Event: Ended{Mark: "m", Outcome: Delivered}, Before: typed}, true, true},
		"typing fails":                         {Change{Event: Ended{Mark: "m", Outcome: Failed}, Before: typed}, false, false},
		"the session moves":                    {Change{Event: Progressed{}, Before: claimed}, false, false},
	} {
		require.Equal(t, c.sent, c.Sent(), name)
		require.Equal(t, c.given, c.Given(), name)
	}
	require.True(t, Change{Before: Session{Run: &Run{Begins: true}}}.StartsTask())
	require.False(t, Change{Before: claimed}.StartsTask())
	require.False(t, Change{}.StartsTask())
}

func TestWhenAResumeGetsItsOutcome(t *testing.T) {
	tried := func(state State, how Outcome) Session {
		return Session{State: state, Interruption: Interruption{Attempts: []Attempt{{N: 1, Mark: "m", Outcome: how}}}}
	}
	ended := Session{State: Watching, Past: []Attempt{{N: 1, Mark: "m", Outcome: Recovered}}}
	task := tried(Resuming, "")
	task.Task = &Task{}
	for name, c := range map[string]struct {
		Change
		want Outcome
	}{
		"with the step that shows it":       {Change{Before: tried(Resuming, ""), After: tried(Waiting, Failed)}, Failed},
		"also when that ends all of them":   {Change{Before: tried(Resuming, ""), After: ended}, Recovered},
		"not before":                        {Change{Before: tried(Resuming, ""), After: tried(Settling, "")}, ""},
		"not again":                         {Change{Before: tried(Waiting, Failed), After: tried(GaveUp, Failed)}, ""},
		"a permission is denied afterwards": {Change{Before: tried(Watching, Recovered), After: tried(Parked, Denied)}, Denied},
		"that is told once":                 {Change{Before: tried(Parked, Denied), After: tried(Parked, Denied)}, ""},
		"another reason for a person":       {Change{Before: tried(Waiting, Failed), After: tried(Parked, Failed)}, ""},
		"there was none":                    {Change{Before: Session{}, After: Session{}}, ""},
		"the start of a task is none":       {Change{Before: task, After: tried(Waiting, Failed)}, ""},
	} {
		var got Outcome
		if a := c.Concluded(); a != nil {
			got = a.Outcome
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestWhatDisprovesALimit(t *testing.T) {
	reset := noon.Add(5 * time.Hour)
	stopped := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset)).Session
	works := func(s Session, at time.Time) Change {
		return Change{At: at, Event: Progressed{At: at}, Before: s, After: s.Next(Progressed{At: at}, defaultRules(), at, half)}
	}
	c := works(stopped, noon.Add(time.Hour))
	gotReset, at, early := c.Disproves()
	require.True(t, early)
	require.Equal(t, []time.Time{reset, noon.Add(time.Hour)}, []time.Time{gotReset, at})

	with := func(change func(*Session)) Session { s := stopped; change(&s); return s }
	for name, c := range map[string]Change{
		"work at its reset":              works(stopped, reset.Add(-SameWindow)),
		"work from before it":            works(stopped, noon),
		"a prompt":                       {At: c.At, Event: Prompted{At: c.At}, Before: stopped, After: c.After},
		"an overload":                    works(with(func(s *Session) { s.Limit.Class = limit.Overloaded }), c.At),
		"a session that was not stopped": works(Session{State: Watching}, c.At),
		"another model":                  {At: c.At, Event: c.Event, Before: stopped, After: with(func(s *Session) { s.State, s.Model = Watching, "small" })},
		"what does not end the wait":     {At: c.At, Event: c.Event, Before: stopped, After: stopped},
	} {
		_, _, early := c.Disproves()
		require.False(t, early, name)
	}
	left := Session{State: Watching, StoppedBefore: &stopped.Limit}
	_, _, early = works(left, noon.Add(time.Hour)).Disproves()
	require.True(t, early, "a person continued it")
	_, _, early = works(stopped, reset.Add(-SameWindow-1)).Disproves()
	require.True(t, early)
}

// An event that Next does not know would change nothing, and nobody would see that.
func TestNextKnowsEachEvent(t *testing.T) {
	parse := func(file string) *ast.File {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		return parsed
	}
	known := make(map[string]bool)
	ast.Inspect(parse("next.go"), func(n ast.Node) bool {
		if in, ok := n.(*ast.CaseClause); ok {
			for _, one := range in.List {
				if name, ok := one.(*ast.Ident); ok {
					known[name.Name] = true
				}
			}
		}
		return true
	})
	events := 0
	for _, decl := range parse("event.go").Decls {
		if of, ok := decl.(*ast.FuncDecl); ok && of.Name.Name == "event" {
			name := of.Recv.List[0].Type.(*ast.Ident).Name
			require.True(t, known[name], name)
			events++
		}
	}
	require.Greater(t, events, 30)
}
