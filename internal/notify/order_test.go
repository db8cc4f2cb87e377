package notify

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
