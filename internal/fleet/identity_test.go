package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/resume"
)

// lookups are lookups that end when a test wants it.
type lookups struct {
	fleet.Identities
	answers map[string]chan string // by account
	asked   map[string]int
	found   int
	slow    []string
}

func newLookups(accounts ...string) *lookups {
	l := &lookups{answers: make(map[string]chan string), asked: make(map[string]int)}
	for _, a := range accounts {
		l.answers[a] = make(chan string)
	}
	l.Find = func(s resume.Session) string {
		l.asked[s.Account]++
		return <-l.answers[s.Account]
	}
	l.Found = func() { l.found++ }
	l.Slow = func(a resume.AccountKey) { l.slow = append(l.slow, a.Name) }
	return l
}

// answer ends the running lookup of an account.
func (l *lookups) answer(account, key string) {
	l.answers[account] <- key
	synctest.Wait()
}

func (l *lookups) require(t *testing.T, account, key string, known bool) {
	t.Helper()
	k, ok := l.Of(resume.Session{Account: account})
	synctest.Wait()
	require.Equal(t, key, k)
	require.Equal(t, known, ok)
}

func TestNobodyWaitsForAFileThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLookups("hung", "local")
		l.require(t, "hung", "", false)
		l.require(t, "local", "", false)
		l.answer("local", "a1")
		require.Equal(t, 1, l.found, "the engine asks again")
		l.require(t, "local", "a1", true)
		began := time.Now()
		require.Empty(t, l.Await(t.Context(), resume.Session{Account: "hung"}))
		require.Equal(t, fleet.IdentifyWithin, time.Since(began), "its sessions do not wait for longer")
		synctest.Wait()
		l.require(t, "hung", "", true)
		require.Equal(t, []string{"hung"}, l.slow, "that is said once")
		require.Equal(t, 2, l.found)
		time.Sleep(time.Hour)
		l.require(t, "hung", "", true)
		require.Equal(t, 1, l.asked["hung"], "a file that does not answer is not read once more")
		l.answer("hung", "a2")
		l.require(t, "hung", "a2", true)
		require.Equal(t, "a2", l.Known(resume.AccountKey{Name: "hung"}))
		require.Equal(t, 3, l.found)

		l.require(t, "local", "a1", true) // it is looked up again
		l.answer("local", "a1")
		require.Equal(t, 3, l.found, "nothing is new")
	})
}

// Another configuration may name other files: a lookup that hangs is no longer waited for, and its
// result is ignored.
func TestAfterAReloadAccountsAreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLookups("a")
		l.require(t, "a", "", false)
		l.Renew()
		l.require(t, "a", "", false)
		require.Equal(t, 2, l.asked["a"])
		old, now := l.answers["a"], make(chan string)
		l.answers["a"] = now
		l.Renew()
		l.require(t, "a", "", false)
		now <- "new"
		synctest.Wait()
		l.require(t, "a", "new", true)
		old <- "old"
		old <- "old"
		synctest.Wait()
		l.require(t, "a", "new", true)
		l.Renew()
		l.require(t, "a", "new", true) // until another key is known
		now <- "newer"
		synctest.Wait()
		l.require(t, "a", "newer", true)
	})
}

func TestAnAccountIsLookedUpAgainAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLookups("a")
		l.require(t, "a", "", false)
		l.answer("a", "a1")
		time.Sleep(time.Minute - 1)
		l.require(t, "a", "a1", true)
		require.Equal(t, 1, l.asked["a"])
		time.Sleep(time.Nanosecond)
		l.require(t, "a", "a1", true)
		require.Equal(t, 2, l.asked["a"])
		l.answer("a", "a2")
		l.require(t, "a", "a2", true)
	})
}
