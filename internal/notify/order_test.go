package notify

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume/view"
)

// A session gives up while the report of its limit is still delayed: "it waits, you need not do
// anything" must not be the last notice, which a desktop shows.
func TestNewsOfASessionIsToldInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Second}})
		n.Report(GaveUp, session("x", 2)) // another one: its notice is open when the next session is added
		n.Report(Limited, session("x", 1))
		time.Sleep(500 * time.Millisecond)
		n.Report(GaveUp, session("x", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []Event{Limited, GaveUp}, eventsOf(ch))
		require.Len(t, ch.notices()[1].Sessions, 2)
	})
}

// Sessions that are limited and give up one after the other do not delay the first notice without end.
func TestACallIsHeldBackForSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Second}})
		for i := range 100 {
			n.Report(Limited, session("x", i))
			time.Sleep(400 * time.Millisecond)
			n.Report(GaveUp, session("x", i))
			if i == 20 { // eight seconds
				synctest.Wait()
				require.Contains(t, eventsOf(ch), GaveUp)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		told := map[string]Event{}
		for _, notice := range ch.notices() {
			for _, s := range notice.Sessions {
				told[s.ID] = notice.Event
			}
		}
		require.Len(t, told, 100)
		for id, last := range told {
			require.Equal(t, GaveUp, last, id)
		}
	})
}

func TestAMessageIsTakenOutOfItsJSON(t *testing.T) {
	for text, want := range map[string]string{
		`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: "API Error: 529 Overloaded",
		`429 {"message":"slow down"} (try later)`:                                                    "429 slow down (try later)",
		`exit status 1 {"error":"plain"}`:                                                            `exit status 1 {"error":"plain"}`,
		`cut off {"error":{"message":"Overl`:                                                         `cut off {"error":{"message":"Overl`,
		`no JSON`:                                                                                    `no JSON`,
	} {
		require.Equal(t, want, withoutJSON(text))
	}
}

// A step that needs a person has a name, and is told of once, whatever has changed since and however often it is reported.
func TestAStepWithANameIsToldOnce(t *testing.T) {
	v := session("x", 1)
	v.NoticeID = "1.1.1.1"
	later := v
	later.LimitedAt, later.Attempt, later.Attempts = nil, 2, nil
	another := later
	another.NoticeID = "1.1.1.2"
	told := func(t *testing.T, views ...view.Session) int {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch)}})
		for _, v := range views {
			n.Report(Parked, v)
			settle()
		}
		return len(ch.notices())
	}
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 1, told(t, v, v, later, v))
		require.Equal(t, 2, told(t, v, later, another))
	})

	// Other steps are told by when the session was stopped, and by its tries.
	base := session("x", 1)
	edges := map[string]bool{edgeOf(Limited, base): true}
	for name, change := range map[string]func(*view.Session){
		"another limit":                  func(v *view.Session) { v.LimitedAt = new(v.LimitedAt.Add(time.Second)) },
		"no limit":                       func(v *view.Session) { v.LimitedAt = nil },
		"another try":                    func(v *view.Session) { v.Attempt++ },
		"a try that began later":         func(v *view.Session) { v.Attempts = []view.Attempt{{StartedAt: new(v.LimitedAt.Add(time.Hour))}} },
		"a try whose start nobody knows": func(v *view.Session) { v.Attempts = []view.Attempt{{}} },
	} {
		v := base
		change(&v)
		edge := edgeOf(Limited, v)
		require.False(t, edges[edge], name)
		edges[edge] = true
	}
	named := base
	named.NoticeID = "1.1.1.1"
	require.Equal(t, edgeOf(Limited, base), edgeOf(Limited, named), "the name is not of this step")
}

// News about a session changes the notice that is still gathered, and no other.
func TestANoticeIsAmendedUntilItIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Minute}})
		first, second, other := session("x", 1), session("x", 2), session("y", 3)
		for _, v := range []view.Session{first, second, other} {
			n.Report(GaveUp, v)
		}
		first.Reason, second.Reason = "news of the first", "news of the second"
		n.Amend(GaveUp, first)
		n.Amend(GaveUp, second)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		n.Amend(GaveUp, other)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, ch.notices(), 2)
		for _, notice := range ch.notices() {
			if notice.Account == "x" {
				require.Equal(t, []string{"news of the first", "news of the second"}, []string{notice.Sessions[0].Reason, notice.Sessions[1].Reason})
			}
		}
	})
}

func TestMarksOfVeryManySessionsAreBounded(t *testing.T) {
	all := gathering{marks: map[string]mark{}}
	for i := range maxMarks {
		all.marks[strconv.Itoa(i)] = mark{At: int64(i)}
	}
	all.prune()
	require.Len(t, all.marks, maxMarks)
	all.marks["new"] = mark{At: maxMarks}
	all.prune()
	require.Len(t, all.marks, maxMarks-maxMarks/10+1)
	require.Contains(t, all.marks, "new")
	require.NotContains(t, all.marks, "0", "the oldest go")
}

// What happens to notices is logged once, and counted.
func TestTroubleWithNoticesIsLoggedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full, refuses atomic.Bool
		full.Store(true)
		store, log := newMemStore(), new(logs)
		store.gate = func(_ string, after bool) error {
			if full.Load() && !after {
				return errors.New("disk full")
			}
			return nil
		}
		good := &fakeChannel{name: "good"}
		bad := &fakeChannel{name: "bad", send: func(context.Context, Notice) error {
			if refuses.Load() {
				return &SendError{Err: errDown, Final: true}
			}
			return errDown
		}}
		n := running(t, Options{Store: store, Log: log.logger(), Config: Config{Channels: ways(good, bad)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "notices cannot be stored and wait"))
		require.NotContains(t, log.String(), "can be stored again")
		full.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "notices can be stored again"))
		require.Equal(t, 1, strings.Count(log.String(), "notice did not arrive and is tried again"))
		require.NotContains(t, log.String(), "channel is not available here")
		require.Equal(t, []Figures{{Name: "bad", Pending: 1, LastError: "down"}, {Name: "good", Delivered: 1}}, n.Figures())
		refuses.Store(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []Figures{{Name: "bad", Failed: 1, LastError: "down"}, {Name: "good", Delivered: 1}}, n.Figures())
	})
}
