package resume

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// recheck is how long a resume that could not be sent waits before the next try.
const recheck = time.Minute

// Rules are the user's settings, as Next and the engine need them.
type Rules struct {
	Backoff backoff.Policy         // used if nothing else applies
	ByClass map[limit.Class]Policy // by class of refusal
	ByAgent map[string]Policy      // by agent; wins over ByClass

	Margin     time.Duration // added to a stated usage-limit reset or clock time
	MaxWait    time.Duration // if a stated reset is further away, the session is parked; 0: no bound
	Overdue    time.Duration // if no daemon ran for this long after a wait was over, a person is asked; 0: never
	Settle     time.Duration // the transcript must move within this time after a resume
	Lookback   time.Duration // older interruptions are ignored when a session is found
	MaxWindows int           // usage limits a session may pass, and how often it may be cut off, without a person's prompt; 0: no bound

	Include []string // only sessions in these directories are resumed; empty: all
	Exclude []string // sessions in these directories are never resumed

	Newcomers Newcomers // which new sessions take the place of a stopped one

	Closed OnClosed // what happens to a session that its user closed after it was stopped
	CutOff OnCutOff // what happens to a session whose process ended in the middle of a turn

	// Silent is how long a live session in the middle of a turn may show no sign of work until that is
	// reported; 0: for ever.
	Silent time.Duration

	// Parallel are the agents that run several sessions in one directory by design: a newer session
	// there says nothing about the others.
	Parallel map[string]bool

	// NextAllowed returns the first time at or after t at which resumes are allowed;
	// nil: always.
	NextAllowed func(t time.Time) time.Time

	MaxColdTokens int64  // tokens that a resume may read again; 0: no bound
	OnCold        OnCold // what happens if it would read more

	WeeklyReserve int // percent of a week's allowance that is reserved for people; 0: none

	KeepEnded time.Duration // a session that gave up or is parked is forgotten after this time; 0: never
	KeepQuiet time.Duration // a session that was never interrupted is forgotten after it was idle this long; 0: never

	MaxConcurrent int           // resumes at the same time
	Stagger       time.Duration // time between resumes of one account
	Priority      []Priority    // which directories go first when several sessions are due
	Order         Order         // used among sessions of the same rank
}

// Policy is a backoff policy with its name in the configuration.
type Policy struct {
	Name string
	backoff.Policy
}

// DefaultPolicy is the name of Rules.Backoff.
const DefaultPolicy = "default"

// PolicyOf returns the policy for what stopped the session.
func (r Rules) PolicyOf(s Session) Policy { return r.PolicyFor(s.Key.Agent, s.Limit.Class) }

// PolicyFor returns the policy for an agent's sessions that were stopped by an error of that class.
func (r Rules) PolicyFor(agent string, class limit.Class) Policy {
	if policy, found := r.ByAgent[agent]; found {
		return policy
	}
	if policy, found := r.ByClass[class]; found {
		return policy
	}
	return Policy{DefaultPolicy, r.Backoff}
}

// Excludes reports whether sessions in dir are not resumed.
func (r Rules) Excludes(dir string) bool { return r.Excluded(dir) != Reason{} }

// Excluded returns why sessions in dir are not resumed; zero: they are.
func (r Rules) Excluded(dir string) Reason {
	holds := func(parent string) bool { return within(dir, parent) }
	if at := slices.IndexFunc(r.Exclude, holds); at >= 0 {
		return inWordsOf(WhyExcluded, r.Exclude[at])
	}
	if len(r.Include) > 0 && !slices.ContainsFunc(r.Include, holds) {
		return Because(WhyNotIncluded)
	}
	return Reason{}
}

func within(dir, parent string) bool {
	dir, parent = filepath.Clean(dir), filepath.Clean(parent)
	return dir == parent || parent == "/" || strings.HasPrefix(dir, parent+string(filepath.Separator))
}

// allowed returns the first time at or after both times at which resumes are allowed. If they always are, it is at.
func (r Rules) allowed(at, now time.Time) time.Time {
	if r.NextAllowed == nil {
		return at
	}
	return r.NextAllowed(Later(at, now))
}

// longestWindow is the longest window of a usage limit: some are a month long.
const longestWindow = 31 * 24 * time.Hour

// ReadSince returns a time. A transcript that was never read and last moved before it need not be read:
// its session would be forgotten at once, and a refusal at its end would be stale. Zero: read all.
func (r Rules) ReadSince(now time.Time) time.Time {
	if r.KeepQuiet <= 0 {
		return time.Time{}
	}
	return now.Add(-max(r.KeepQuiet, max(r.MaxWait, longestWindow)+r.Lookback))
}

// stale reports whether a refusal from before its session was found is too old: neither it nor its
// reset is younger than Lookback.
func (r Rules) stale(ev Limited, found, now time.Time) bool {
	if !ev.First && !ev.At.Before(found) {
		return false
	}
	since := now.Add(-r.Lookback)
	return ev.At.Before(since) && ev.Reset.At.Before(since)
}

// Priority is the rank of the sessions of a directory; 1 goes first.
type Priority struct {
	Dir  string
	Rank int
}

// Rank returns the rank of the closest parent directory in Priority. Other directories come last.
func (r Rules) Rank(dir string) int {
	rank, closest := math.MaxInt, -1
	for _, p := range r.Priority {
		if len(p.Dir) > closest && within(dir, p.Dir) {
			rank, closest = p.Rank, len(p.Dir)
		}
	}
	return rank
}

// Order says which session goes first when several are due.
type Order string

// OnCold says what happens to a session with a context larger than MaxColdTokens.
type OnCold string

// OnClosed says what happens to a session after its user closed the agent while it was stopped.
type OnClosed string

// OnCutOff says what happens to a session whose process ended in the middle of a turn, and not by its
// user.
type OnCutOff string

// Newcomers says which new sessions take the place of a stopped session in the same directory, which is
// then not resumed.
type Newcomers string

// The values of these settings.
const (
	Oldest Order = "oldest" // the one that was stopped first
	Newest Order = "newest"

	ResumeCold OnCold = "resume" // it continues
	TellCold   OnCold = "tell"   // it continues, and is reported to a person before
	ParkCold   OnCold = "park"   // a person is asked

	ResumeClosed OnClosed = "resume" // it is resumed without a terminal when it is due
	LeaveClosed  OnClosed = "leave"  // it is left to its user

	TellCutOff   OnCutOff = "tell"   // a person is asked
	ResumeCutOff OnCutOff = "resume" // it is resumed like a session that a limit stopped
	IgnoreCutOff OnCutOff = "ignore"

	InteractiveNewcomers Newcomers = "interactive" // a person continued with it; sessions of scripts and hooks do not count
	AnyNewcomer          Newcomers = "any"
	NoNewcomer           Newcomers = "never"
)

// Replaces reports whether a newcomer of that kind takes the place of a session of that agent.
func (r Rules) Replaces(agent, kind string) bool {
	switch {
	case r.Parallel[agent] || r.Newcomers == NoNewcomer:
		return false
	case r.Newcomers == AnyNewcomer:
		return true
	default:
		return kind != Headless
	}
}

// Cold reports whether a resume at that time has to read the whole context again, and whether that is
// known.
func (s Session) Cold(at time.Time) (cold, known bool) {
	if s.Context.Tokens == 0 || s.Context.Warm == 0 || s.Context.At.IsZero() {
		return false, false
	}
	return at.Sub(s.Context.At) > s.Context.Warm, true
}

// readsTooMuch reports whether a resume at that time would read more again than MaxColdTokens, as far as is known.
func (s Session) readsTooMuch(r Rules, at time.Time) bool {
	cold, known := s.Cold(at)
	return r.MaxColdTokens > 0 && s.Context.Tokens > r.MaxColdTokens && (cold || !known)
}

// readsAgain is a reason that names what a resume reads again as it was then: the session may read less or more later.
func (s Session) readsAgain(kind Why, r Rules) Reason {
	return Reason{Kind: kind, N: s.Context.Tokens, Text: strconv.FormatInt(r.MaxColdTokens, 10)}
}

// TooCold returns that the session is not resumed at that time because of what it would read again; zero: it may
// be. A person's order overrides it.
func (r Rules) TooCold(s Session, at time.Time) Reason {
	if r.OnCold != ParkCold || !s.RetryAskedAt.IsZero() || !s.readsTooMuch(r, at) {
		return Reason{}
	}
	return s.readsAgain(WhyTooCold, r)
}

// ReservedBy returns that the session is not resumed now because the rest of the week, by that usage, is reserved for
// people, and until when; zero: it may be resumed. A person's order overrides it.
func (r Rules) ReservedBy(u Usage, s Session, now time.Time) (why Reason, until time.Time) {
	until = u.WeekResetsAt.Add(r.Margin)
	free := r.WeeklyReserve <= 0 || u.WeekUsed < 100-float64(r.WeeklyReserve) || !until.After(now)
	if free || !s.RetryAskedAt.IsZero() {
		return Reason{}, time.Time{}
	}
	return Reason{Kind: WhyReserved, N: int64(r.WeeklyReserve), Text: fmt.Sprintf("%.0f %%", u.WeekUsed)}, until
}
