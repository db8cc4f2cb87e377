package resume

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// recheck is how long a resume that could not be sent waits before the next look.
const recheck = time.Minute

// Order says who goes first when several sessions are due.
type Order string

// The orders.
const (
	Oldest Order = "oldest" // limited first, resumed first
	Newest Order = "newest"
)

// Rules are the user's wishes, as Next and the engine need them.
type Rules struct {
	Backoff backoff.Policy                 // where nothing else applies
	ByClass map[limit.Class]backoff.Policy // for what was refused
	ByAgent map[string]backoff.Policy      // for who was refused; wins over ByClass

	Margin     time.Duration // waited past a stated usage-limit reset or clock time
	MaxWait    time.Duration // a stated reset further away is parked; 0: no bound
	Overdue    time.Duration // a wait that was over this long while no daemon was there is asked about; 0: never
	Settle     time.Duration // after a resume the transcript must move within this
	Lookback   time.Duration // older interruptions are not adopted at first sight
	MaxWindows int           // usage limits a session may cross without a person's prompt; 0: no bound

	Include []string // directories whose sessions are resumed; empty: all
	Exclude []string // directories that are never touched

	Newcomers Newcomers // who takes the place of a session that was stopped

	Closed OnClosed // what is done about a session that its user closed after it was stopped

	// Parallel are the agents whose sessions share a directory by design: a
	// newer one there says nothing about the others.
	Parallel map[string]bool

	// NextAllowed returns the first time at or after t at which resumes are allowed;
	// nil: always.
	NextAllowed func(t time.Time) time.Time

	MaxColdTokens int64  // a resume may read this much anew; 0: no bound
	OnCold        OnCold // what is done where it would read more

	WeeklyReserve int // percent of a week's allowance that only people use; 0: none

	KeepEnded time.Duration // a session that gave up or is parked is forgotten after this; 0: never
	KeepQuiet time.Duration // one that was never interrupted, after it was silent this long; 0: never

	MaxConcurrent int           // resumes at a time
	Stagger       time.Duration // between sessions of one account
	Priority      []Priority    // who goes first when several are due, by directory,
	Order         Order         // and else

	Recoveries Recoveries // the engine's own: what outages have taught
}

// Policy returns the backoff policy for a session of that agent that met that
// class of refusal.
func (r Rules) Policy(agent string, class limit.Class) backoff.Policy {
	if p, ok := r.ByAgent[agent]; ok {
		return p
	}
	if p, ok := r.ByClass[class]; ok {
		return p
	}
	return r.Backoff
}

// Excluded says why sessions in dir are not touched, or "".
func (r Rules) Excluded(dir string) string {
	for _, d := range r.Exclude {
		if within(dir, d) {
			return "its directory is excluded by resume.exclude (" + d + ")"
		}
	}
	for _, d := range r.Include {
		if within(dir, d) {
			return ""
		}
	}
	if len(r.Include) > 0 {
		return "its directory is not among resume.include"
	}
	return ""
}

func within(dir, parent string) bool {
	dir, parent = filepath.Clean(dir), filepath.Clean(parent)
	return dir == parent || parent == "/" || strings.HasPrefix(dir, parent+string(filepath.Separator))
}

// longestWindow is how long an allowance may take to return: those of a month do.
const longestWindow = 31 * 24 * time.Hour

// Unread returns the time before which a transcript that nobody has read must have
// moved for the last time to be left unread: its session would be forgotten at once,
// and a refusal at its end would be stale. Zero: none may be left.
func (r Rules) Unread(now time.Time) time.Time {
	if r.KeepQuiet <= 0 {
		return time.Time{}
	}
	return now.Add(-max(r.KeepQuiet, max(r.MaxWait, longestWindow)+r.Lookback))
}

// stale reports whether a refusal that was there before its session was found
// is too old to be acted on: neither it nor its reset is younger than Lookback.
func (r Rules) stale(ev Limited, found, now time.Time) bool {
	if !ev.First && !ev.At.Before(found) {
		return false
	}
	since := now.Add(-r.Lookback)
	return ev.At.Before(since) && ev.Reset.At.Before(since)
}

// Priority is the rank of the sessions of a directory: those of 1 go first.
type Priority struct {
	Dir  string
	Rank int
}

// Rank returns that of a directory, by the closest one that is named. What is not
// named comes last.
func (r Rules) Rank(dir string) int {
	rank, closest := math.MaxInt, -1
	for _, p := range r.Priority {
		if len(p.Dir) > closest && within(dir, p.Dir) {
			rank, closest = p.Rank, len(p.Dir)
		}
	}
	return rank
}

// OnCold is what is done about a session whose context is larger than the user
// wants to have read anew.
type OnCold string

// What may be done.
const (
	ResumeCold OnCold = "resume" // it continues
	TellCold   OnCold = "tell"   // it continues, and a person is told before
	ParkCold   OnCold = "park"   // a person is asked
)

// OnClosed is what is done about a session whose user closed the agent after it was
// stopped.
type OnClosed string

// What may be done.
const (
	ResumeClosed OnClosed = "resume" // it goes on without a terminal when its time has come
	LeaveClosed  OnClosed = "leave"  // it is its user's to go on with
)

// Newcomers says which of the sessions that are begun where another one had been
// stopped take its place: that one is not resumed then.
type Newcomers string

// The newcomers that take the place of a session that was stopped.
const (
	InteractiveNewcomers Newcomers = "interactive" // a person went on with it; a side job of a script or a hook does not continue that session's work
	AnyNewcomer          Newcomers = "any"
	NoNewcomer           Newcomers = "never"
)

// Replaces reports whether a newcomer of that kind takes the place of a session
// of that agent.
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

// Cold reports whether a resume at that time is read anew as a whole, and whether
// that is known.
func (s Session) Cold(at time.Time) (cold, known bool) {
	if s.Context.Tokens == 0 || s.Context.Warm == 0 || s.Context.At.IsZero() {
		return false, false
	}
	return at.Sub(s.Context.At) > s.Context.Warm, true
}

// tooCold says that a resume at that time would read more anew than is wanted; empty:
// it would not, or that is not known.
func (s Session) tooCold(r Rules, at time.Time) string {
	cold, known := s.Cold(at)
	if r.MaxColdTokens <= 0 || s.Context.Tokens <= r.MaxColdTokens || known && !cold {
		return ""
	}
	return fmt.Sprintf("a resume reads about %s tokens again, more than resume.max_cold_tokens (%s)",
		grouped(s.Context.Tokens), grouped(r.MaxColdTokens))
}

// TooCold says why the session is not resumed at that time, because of what that
// would read anew; empty: nothing is against it. A person's order is stronger.
func (r Rules) TooCold(s Session, at time.Time) string {
	if r.OnCold != ParkCold || !s.RetryAskedAt.IsZero() {
		return ""
	}
	why := s.tooCold(r, at)
	if why == "" {
		return ""
	}
	return why + "; " + s.retry() + " continues it anyway"
}

// Reserved says why the session is not resumed now, because the rest of the week is
// reserved for people, and until when; empty: nothing is against it. A person's order is
// stronger.
func (r Rules) Reserved(s Session, now time.Time) (why string, until time.Time) {
	if why, until = r.ReservedBy(s.Usage, s, now); why != "" {
		why += "; " + s.retry() + " continues it now"
	}
	return why, until
}

// ReservedBy is Reserved by the usage of the account. Its reason does not name the session, so that
// sessions that wait for the same reason are found together.
func (r Rules) ReservedBy(u Usage, s Session, now time.Time) (why string, until time.Time) {
	until = u.WeekResetsAt.Add(r.Margin)
	free := r.WeeklyReserve <= 0 || u.WeekUsed < 100-float64(r.WeeklyReserve) || !until.After(now)
	if free || !s.RetryAskedAt.IsZero() || s.Paid != nil {
		return "", time.Time{}
	}
	return fmt.Sprintf("%.0f %% of the week's allowance is used, and the last %d %% are kept for you (resume.weekly_reserve): it waits for the new week",
		u.WeekUsed, r.WeeklyReserve), until
}
