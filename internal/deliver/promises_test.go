package deliver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// If a crash could undo the claim, the session would be claimed twice: in no way of sending is anything
// sent while the disk refuses the claim. A prompt for another process is claimed twice.
func TestNothingIsSentIfTheClaimIsNotOnDisk(t *testing.T) {
	t.Parallel()
	for name, c := range ways {
		for refused := 1; refused <= 2; refused++ {
			w := newWorld(t)
			w.onNotedMachine(c.way)
			if refused == 2 && w.agent.owner == nil {
				continue // the command that continues a session is claimed once
			}
			calls := 0
			w.d.opts.Sync = func(context.Context, ...resume.Key) error {
				if calls++; calls == refused {
					return errors.New("disk full")
				}
				return nil
			}
			got := w.act()
			require.Equal(t, "not sent: "+notOnDisk+"disk full", got[len(got)-1], name)
			for _, line := range got {
				require.NotContains(t, []string{"sending", "starts", "sends", "types"}, line, name)
			}
			require.Equal(t, resume.Waiting, w.now().State, "it is tried again")
		}
	}
}

// A session may be continued again while the command before is still ending: no other process and no
// other host gets it before both are over.
func TestALeaseIsReleasedWithItsLastUser(t *testing.T) {
	hosts := new(otherHosts)
	hosts.w = newWorld(t, sharing(hosts))
	d, session := hosts.w.d, hosts.w.session
	first, second := &delivery{Deliverer: d, session: session}, &delivery{Deliverer: d, session: session}
	for _, v := range []*delivery{first, second} {
		require.Nil(t, v.pass(t.Context(), []gate{(*delivery).takeLease, (*delivery).askHosts}))
	}
	first.releaseLease(t.Context())
	require.False(t, hosts.released)
	_, err := lease.Acquire(d.opts.LeaseDirs, session.Key.Agent, session.Key.ID)
	require.ErrorAs(t, err, new(*lease.HeldError))

	second.releaseLease(t.Context())
	require.True(t, hosts.released)
	again, err := lease.Acquire(d.opts.LeaseDirs, session.Key.Agent, session.Key.ID)
	require.NoError(t, err)
	require.NoError(t, again.Release())
}

// Only a process that was seen alive and was not killed was closed by its user.
func TestWhatEndsWithoutItsUserWasNotClosed(t *testing.T) {
	w := stopped(t)
	session := w.session
	session.Owner = w.agent.owner
	require.False(t, w.d.closed(w.agent, session), "it may have ended with the machine")
	w.d.tracker.saw(session.Key)
	require.True(t, w.d.closed(w.agent, session))
	w.agent.killed = true
	require.False(t, w.d.closed(w.agent, session))
	w.agent.killed, session.Owner = false, &resume.Owner{PID: 42, Kind: resume.Headless}
	require.False(t, w.d.closed(w.agent, session), "no person used it")
}

// A prompt from before the claim is not the prompt of the resume.
func TestAnEarlierPromptIsNotTakenForTheResumes(t *testing.T) {
	w := newWorld(t)
	s := w.session
	require.NoError(t, os.WriteFile(s.Transcript, []byte("limit\nprompt\n"), 0o600))
	claimed := s.Attempts[0].StartedAt
	w.agent.promptAt = claimed
	arrives := func(behind int64, at, limitedAt time.Time) bool {
		w.agent.promptAt, s.LimitedAt = at, limitedAt
		s.Run.Behind.Offset = behind
		return arrived(t.Context(), w.agent, s)
	}
	const line = int64(len("limit\n")) // where the prompt begins
	before := claimed.Add(-time.Hour)
	require.True(t, arrives(line, claimed, before))
	require.False(t, arrives(line+1, claimed, before), "it was read before the claim")
	require.True(t, arrives(line, claimed.Add(-time.Second), before), "some agents write whole seconds")
	require.False(t, arrives(line, claimed.Add(-time.Second-1), before), "it is older than the claim")
	require.False(t, arrives(line, claimed, claimed), "it is no newer than the limit")
}

// The session's work is not in another directory of the same name. A person may order a retry anyway.
func TestAReplacedDirectoryIsContinuedInOnOrder(t *testing.T) {
	w := newWorld(t)
	if _, known := runner.BirthTime(w.session.Cwd); !known {
		t.Skip("NOT TESTED HERE: the file system does not tell when a directory was made")
	}
	w.run("touch touched")
	w.session.CwdBorn = time.Unix(1, 0)
	require.NoError(t, os.WriteFile(filepath.Join(w.session.Cwd, "other"), nil, 0o600))
	got := w.act()
	require.Contains(t, got[len(got)-1], "parked: "+w.session.Cwd+" was replaced by another directory")
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
	got = w.actAgain()
	require.Equal(t, "delivered", got[len(got)-1])
	require.FileExists(t, filepath.Join(w.session.Cwd, "touched"))
}

// What exec gave up on is left to a person; what a person cancelled there is cancelled here too. A
// retry counts more than both.
func TestTheDaemonFollowsWhatExecDecided(t *testing.T) {
	t.Parallel()
	for cancelled, want := range map[bool]resume.State{false: resume.Parked, true: resume.Watching} {
		w := newWorld(t)
		w.run("touch touched")
		held, err := lease.Acquire(w.d.opts.LeaseDirs, w.session.Key.Agent, w.session.Key.ID)
		require.NoError(t, err)
		require.NoError(t, held.GiveUp(lease.Note{At: time.Now(), Why: "3 tries did not help", Cancelled: cancelled}))
		require.NoError(t, held.Release())
		w.act()
		require.Equal(t, want, w.now().State)
		require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
		if !cancelled {
			w.actAgain()
			require.FileExists(t, filepath.Join(w.session.Cwd, "touched"))
		}
	}
}

// database is an agent that stores its sessions in a database.
type database struct {
	agent.Agent
	all []agent.Evidence
	err error
}

func (d database) Follow(context.Context, agent.Feed) error      { return nil }
func (d database) ReadNew(context.Context, resume.Session) error { return nil }
func (d database) Evidence(string) ([]agent.Evidence, error)     { return d.all, d.err }

// In a database, only the last event of the session itself shows its prompt.
func TestThePromptOfAnotherSessionIsNotTakenForTheResumes(t *testing.T) {
	w := newWorld(t)
	prompted := func(id string) agent.Evidence {
		return agent.Evidence{Observation: resume.Observation{
			Key: resume.Key{Agent: "fake", ID: id}, Pos: resume.Position{Offset: 7}, Event: resume.Prompted{At: time.Now()},
		}}
	}
	for want, all := range map[bool][]agent.Evidence{true: {prompted("s-0"), prompted("s-1")}, false: {prompted("s-0")}} {
		require.Equal(t, want, arrived(t.Context(), database{Agent: w.agent, all: all}, w.now()))
	}
	require.True(t, arrived(t.Context(), database{Agent: w.agent, all: []agent.Evidence{prompted("s-1")}}, w.now()), "the first one counts too")
}

// The output of a command that runs is kept, however old it is. That of other resumes is not.
func TestTheOutputOfACommandThatRunsIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*world)
		kept  bool
	}{
		"it runs":         {func(*world) {}, true},
		"it has ended":    {func(w *world) { w.session.Run = nil }, false},
		"nobody knows it": {func(w *world) { w.unknown = resume.ErrNoSession }, false},
	} {
		w := newWorld(t)
		key := w.session.Key
		output := w.d.files.Output(key, w.session.Run.N)
		require.NoError(t, w.d.files.Prepare(key, w.session.Run.N, false))
		require.NoError(t, os.WriteFile(output, []byte("words"), 0o600))
		c.given(w)
		later := time.Now().Add(24 * time.Hour)
		stopping, stop := context.WithCancel(t.Context())
		stop()
		require.NoError(t, w.d.PruneFiles(stopping, time.Hour, 1<<20, later), "a daemon that stops has not failed")
		require.NoError(t, w.d.PruneFiles(t.Context(), time.Hour, 1<<20, later))
		_, err := os.Stat(output)
		require.Equal(t, c.kept, err == nil, name)
	}
}
