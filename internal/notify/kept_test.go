package notify

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// The notice has what is known when it is sent, and each session once.
func TestASessionThatIsStoppedAgainIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Minute}})
		again := session("x", 1)
		n.Report(Limited, again)
		again.LimitedAt, again.Reason = new(again.LimitedAt.Add(time.Second)), "stopped again"
		n.Report(Limited, again)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, ch.notices(), 1)
		require.Len(t, ch.notices()[0].Sessions, 1)
		require.Equal(t, "stopped again", ch.notices()[0].Sessions[0].Reason)
	})
}

// What happened while no channel wanted it is old news when one does.
func TestWhatNobodyWantedIsNotToldByALaterDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, store := &fakeChannel{name: "a", events: Events()}, newMemStore()
		v := session("x", 1)
		v.NoticeID = "1.1.1.1"
		n, stop := start(t, Options{Store: store, Config: Config{}})
		n.Report(GaveUp, v)
		n.TellStateError("nobody hears it")
		settle()
		stop()
		n = running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, v)
		settle()
		require.Empty(t, ch.notices())
	})
}

func TestARefusedConfigurationIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch)}})
		settle() // nothing else wakes the notifier
		n.TellConfigError("resumed.toml: wrong")
		settle()
		require.Equal(t, []Event{ConfigError}, eventsOf(ch))
	})
}

func TestANoticeHasTheLastTriesOfASession(t *testing.T) {
	v := session("x", 1)
	v.Attempts = nil
	for n := range maxViewAttempts + 1 {
		v.Attempts = append(v.Attempts, view.Attempt{N: n, Error: "a\x1b[31mb"})
	}
	got := trimView(v)
	require.Len(t, got.Attempts, maxViewAttempts)
	require.Equal(t, view.Attempt{N: 1, Error: "ab"}, got.Attempts[0])
	require.Equal(t, "a\x1b[31mb", v.Attempts[1].Error, "the session itself stays as it is")
}

func TestAChannelSaysItsOwnText(t *testing.T) {
	own, err := NewChannel(Common{Name: "x", Text: "{{.Event}} on {{.Host}}\nand more", Lines: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, "gave_up on box\nand more", own.word(sample(GaveUp, 1)).Text)

	_, err = NewChannel(Common{Name: "x", Title: "{{.Evnt}}", Text: "{{.Txt}}"}, nil)
	require.ErrorContains(t, err, "title")
	require.ErrorContains(t, err, "no .Evnt")
	require.ErrorContains(t, err, "text")
	require.ErrorContains(t, err, "no .Txt")
}

// A notice that was sent is not written again and again: the machine of a sleeping person is idle.
func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, store := &fakeChannel{name: "a", events: Events()}, newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch), GroupWait: time.Hour}})
		n.Report(GaveUp, session("x", 1)) // it is gathered for an hour
		settle()
		written := store.writes
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Equal(t, written, store.writes)
	})
}

func TestAnOrderForANoticeIsForItsSessions(t *testing.T) {
	require.Equal(t, []resume.Key{{Agent: "claude-code", ID: "0000-9c1e"}, {Agent: "claude-code", ID: "0001-9c1e"}}, sample(GaveUp, 2).Keys())
}
