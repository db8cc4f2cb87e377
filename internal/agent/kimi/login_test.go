package kimi

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestWhoIsSignedInIsReadFromTheToken(t *testing.T) {
	home := t.TempDir()
	signIn := func(token string) {
		agenttest.Write(t, filepath.Join(home, "credentials", "kimi-code.json"), fmt.Sprintf(`{"access_token":%q,"refresh_token":"r"}`, token))
	}
	a := newAgent(t, home)
	session := resume.Session{Transcript: filepath.Join(home, "sessions", "wd", sessionA, wireFile)}
	require.Empty(t, a.Identity(session, nil), "nobody is signed in")
	for claims, want := range map[string]string{
		`{"sub":"u-1","exp":1}`: "login u-1", `{"sub":"u-1","exp":2}`: "login u-1", `{"user_id":"u-2"}`: "login u-2", `{"exp":3}`: "", `no claims`: "",
	} {
		signIn(token(claims))
		require.Equal(t, want, a.Identity(session, nil), claims)
	}
	signIn("opaque")
	require.Empty(t, a.Identity(session, nil))
	signIn(token(`{"sub":"u-1"}`))
	require.Equal(t, "key sk-x", a.Identity(session, []string{"KIMI_API_KEY=sk-x"}), "a key decides")
}
