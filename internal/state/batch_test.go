package state

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// However many records are written together, each exists once, with its last value, and the history is in
// the order in which it was appended.
func TestRecordsThatAreWrittenTogetherAreAllThere(t *testing.T) {
	for _, many := range []int{0, 1, 83} {
		s := open(t, t.TempDir())
		for round := range 2 {
			for n := range many {
				s.Put(session(fmt.Sprint(n), round))
				s.PutCursor(fmt.Sprint("/t/", n), json.RawMessage(fmt.Sprint(round)))
				s.AppendHistory(Entry{At: time.Unix(int64(round), 0), Key: resume.Key{Agent: "a", ID: fmt.Sprint(n)}, Kind: "waiting", Data: json.RawMessage("{}")})
			}
			s.Put(session("dropped", round))
			if round == 1 {
				s.DropSession(session("dropped", 0).Key)
			}
			require.NoError(t, s.Sync(t.Context()))
		}
		snap := load(t, s)
		require.Len(t, snap.Sessions, many)
		require.Len(t, snap.Cursors, many)
		for _, one := range snap.Sessions {
			require.Equal(t, session(one.Key.ID, 1), one)
			require.Equal(t, "1", string(snap.Cursors["/t/"+one.Key.ID]))
		}
		told := 0
		for line, err := range s.History(t.Context(), Filter{}) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(told%many), line.Key.ID)
			told++
		}
		require.Equal(t, 2*many, told)
		require.NoError(t, s.Close())
	}
}

// The memory to write a stopped session, besides its JSON, is bounded.
func TestTheAllocationsOfAStoredSessionAreFew(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	const many = 512
	sessions, cursor := make([]resume.Session, many), json.RawMessage("1")
	for n := range sessions {
		sessions[n] = session(fmt.Sprint(n), 1)
	}
	each := testing.AllocsPerRun(5, func() {
		for _, one := range sessions {
			s.Put(one)
			s.AppendHistory(Entry{Key: one.Key, Kind: "waiting", Data: cursor})
			s.PutCursor(one.Key.ID, cursor)
		}
		require.NoError(t, s.Sync(t.Context()))
	}) / many
	t.Logf("%.1f allocations a session", each)
	require.LessOrEqual(t, each, 50.0)
}
