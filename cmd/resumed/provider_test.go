package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// refusedBy writes a turn that one of several providers refused.
func (o *opencodeDB) refusedBy(provider, id, session, words, headers string) {
	o.b.t.Helper()
	now := time.Now().UnixMilli()
	o.exec("INSERT INTO message VALUES (?, ?, ?, ?, ?)", id, session, now, now, fmt.Sprintf(
		`{"role":"assistant","providerID":%q,"modelID":"m","time":{"created":%d,"completed":%d},
		"error":{"name":"APIError","data":{"message":%q,"statusCode":429,"isRetryable":true,"responseHeaders":{%s}}}}`,
		provider, now, now, words, headers))
}

// account returns the state of one provider's limit.
func account(status control.Status, provider string) control.Account {
	for _, a := range status.Accounts {
		if a.Provider == provider {
			return a
		}
	}
	return control.Account{}
}

// Sessions of one home use two providers, and only one of them is limited.
func TestOneProvidersLimitDoesNotHoldUpAnother(t *testing.T) {
	b := newBox(t)
	b.write(configFile, served+"[backoff]\nbase_delay = \"200ms\"\njitter = false\n[resume]\nstagger = \"10m\"\n")
	b.write("bin/opencode", "#!/bin/sh\necho \"$3\" >> \"$HOME/runs\"\nsleep 600\n")
	db := b.opencodeDB()
	for _, id := range []string{"ses_told", "ses_mute", "ses_other"} {
		b.write(id+"/main.go", "package main\n")
		db.session(id, "", b.path(id))
	}
	b.start()
	const words = "The usage limit has been reached"
	db.refusedBy("anthropic", "msg_1", "ses_told", words, `"retry-after":"10800"`)
	b.untilState("ses_told", resume.Waiting)
	db.refusedBy("anthropic", "msg_2", "ses_mute", words, "")
	db.refusedBy("openai", "msg_3", "ses_other", words, "")

	b.untilState("ses_other", resume.Resuming)
	b.until("it is known when the limit of all lifts", func() bool {
		return strings.Contains(b.session("ses_mute").Reason, "as another session of its account was told")
	})
	b.until("the other provider is asked", func() bool { return b.read("runs") == "ses_other\n" })

	status := b.status()
	for _, s := range status.Sessions {
		require.Equal(t, "opencode:default", s.Account, "the account keeps its name")
	}
	require.Len(t, status.Accounts, 2)
	limited, trying := account(status, "anthropic"), account(status, "openai")
	require.Equal(t, "opencode:default", limited.Name)
	require.Equal(t, "open", limited.State)
	require.Equal(t, 2, limited.Sessions)
	require.WithinDuration(t, time.Now().Add(3*time.Hour), *limited.ResetAt, time.Minute)
	require.Equal(t, "half_open", trying.State)
	out, _, _ := b.run("status")
	require.Contains(t, out, "opencode:default (anthropic)")

	now := time.Now().UnixMilli()
	db.exec("INSERT INTO message VALUES ('msg_4', 'ses_other', ?, ?, ?)", now, now,
		fmt.Sprintf(`{"role":"assistant","providerID":"openai","time":{"created":%d,"completed":%d},"finish":"stop"}`, now, now))
	b.untilState("ses_other", resume.Watching)
	figures := b.scrape()
	require.EqualValues(t, 1, value(figures, "resumed_account_provider_open", "account", "opencode:default", "provider", "anthropic"))
	require.EqualValues(t, 0, value(figures, "resumed_account_provider_open", "account", "opencode:default", "provider", "openai"))
	require.EqualValues(t, 1, value(figures, "resumed_account_open", "account", "opencode:default"))

	// The user changes the model of a session that waits.
	db.exec("INSERT INTO message VALUES ('msg_5', 'ses_mute', ?, ?, ?)", now+1, now+1,
		fmt.Sprintf(`{"role":"user","time":{"created":%d},"model":{"providerID":"openai","modelID":"m"}}`, now+1))
	b.untilState("ses_mute", resume.Watching)
	require.Equal(t, "openai", b.session("ses_mute").Provider)
	require.Equal(t, 1, account(b.status(), "anthropic").Sessions)
}
