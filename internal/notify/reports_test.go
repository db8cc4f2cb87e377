package notify

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/usage"
)

func TestADigestSaysWhatNeedsYouFirstAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Hour}})
		n.TellDigest(nil)
		settle()
		require.Empty(t, ch.notices(), "a night without news")
		n.TellDigest([]Digested{{View: session("x", 1)}, {View: session("x", 2), GoOn: "resumed retry 0002", Needed: true}})
		settle()
		require.Len(t, ch.notices(), 1, "it waits for nothing to be gathered with it")
		got := ch.notices()[0]
		require.Equal(t, Digest, got.Event)
		require.Len(t, got.Sessions, 2)
		require.Equal(t, "resumed: 1 session continued, 1 needs you", got.Title)
		require.Less(t, strings.Index(got.Text, "Needs you:"), strings.Index(got.Text, "Continued:"))
		require.Contains(t, got.Text, "\n  resumed retry 0002")
	})
}

func TestADigestOfManySessionsNamesSome(t *testing.T) {
	var many []Digested
	for i := range 2 * maxTextSessions {
		many = append(many, Digested{View: session("x", i), Needed: i < maxTextSessions-1})
	}
	text := digestText(many)
	require.Equal(t, maxTextSessions, strings.Count(text, "api"))
	require.Contains(t, text, fmt.Sprintf(andMore, maxTextSessions), "of those that were continued, one is named")
}

func TestMuchUseIsToldWithItsFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: time.Hour}})
		account := resume.AccountKey{Name: "claude-code:default"}
		full := time.Now().UTC().Add(90 * time.Minute)
		week := usage.Window{Kind: usage.SevenDays, Used: 84, ResetsAt: time.Now().Add(48 * time.Hour), FullAt: &full, Earliest: &full, Latest: &full}
		n.TellUsage(account, week)
		settle()
		require.Len(t, ch.notices(), 1)
		got := ch.notices()[0]
		require.Equal(t, Usage, got.Event)
		require.Equal(t, &Allowance{Window: usage.SevenDays, Percent: usage.Threshold(84), ResetsAt: week.ResetsAt.UTC(), FullAt: &full}, got.Allowance)
		require.Contains(t, got.Title, "claude-code:default")
		require.Contains(t, got.Text, "At this pace")

		title, text := UsageWords(account, *got.Allowance, time.Now())
		require.Contains(t, title, "claude-code:default")
		require.Contains(t, text, "At this pace", "another host says it too")
	})
}

// A delivery that an other version wrote, or a damaged one, is dropped with its reason and holds nothing up.
func TestANoticeThatCannotBeReadIsDroppedLoudly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, store, log := &fakeChannel{name: "a", events: Events()}, newMemStore(), &logs{}
		store.StoreOutbox([]Delivery{{ID: "ntc_BAD", Channel: "a", At: time.Now(), NextAt: time.Now(), Payload: []byte("{")}}, "", nil)
		store.flush()
		n := running(t, Options{Store: store, Log: log.logger(), Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Len(t, ch.notices(), 1)
		require.Empty(t, store.Pending())
		require.Contains(t, strings.Join(store.outcomes(), " "), "failed")
		require.Contains(t, log.String(), "ntc_BAD")
	})
}
