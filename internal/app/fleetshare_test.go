package app

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/fleet"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

func TestASharedNoticeSaysWhatItsHostGivesAway(t *testing.T) {
	const secret = "hunter2"
	notice := notify.Notice{Account: "bot:default", Title: secret, Text: secret, Sessions: []resume.View{{ID: "s-1", Text: secret}}}
	m := &member{host: "here", config: config.Fleet{Share: config.ShareFacts}}
	facts, err := json.Marshal(m.given(notice, time.Now().Add(time.Hour)))
	require.NoError(t, err)
	require.NotContains(t, string(facts), secret)
	require.Contains(t, string(facts), "bot:default is limited")
	require.Equal(t, secret, notice.Sessions[0].Text, "what is told here keeps it")
	m.config.Share = config.ShareTexts
	require.Equal(t, secret, m.given(notice, time.Time{}).Text)
}

func TestAHostThatIsGoneHasOneNotice(t *testing.T) {
	m := &member{host: "here"}
	id, data := m.goneNotice(fleet.Host{Host: "there", Life: "1", Waiting: 2, SeenAt: time.Now()})
	again, _ := m.goneNotice(fleet.Host{Host: "there", Life: "1", Waiting: 1})
	require.Equal(t, id, again)
	var notice notify.Notice
	require.NoError(t, json.Unmarshal(data, &notice))
	require.Equal(t, notify.HostGone, notice.Event)
	require.Contains(t, notice.Text, "2 sessions of host there wait")
}
