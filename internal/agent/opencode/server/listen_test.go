package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerThatWasStartedAnewKnowsNothingOfOldWaits(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("directory") == "/b" {
			fmt.Fprint(w, `{"ses_2":{"type":"retry","attempt":2,"message":"Overloaded","next":5}}`)
			return
		}
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(fake.Close)
	base, err := url.Parse(fake.URL)
	require.NoError(t, err)
	sent := make(map[string][]Kind)
	l := Listener{
		Client:  Client{URL: base},
		Waiting: func() map[string]string { return map[string]string{"ses_1": "/a", "ses_2": "/b"} },
		Send:    func(e Event) { sent[e.Session] = append(sent[e.Session], e.Kind) },
	}
	l.sendStatuses(t.Context())
	require.Equal(t, map[string][]Kind{"ses_1": {Lost}, "ses_2": {Retrying}}, sent)
}
