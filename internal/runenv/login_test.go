package runenv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/resume"
)

// signedIn is an agent whose login depends on a variable.
type signedIn struct{ agent.Agent }

func (signedIn) Login(environ []string, _ string) string { return childenv.Value(environ, "LOGIN") }
func (signedIn) ContinueCommand(resume.Session) string   { return "" }

// The login counts that the resume uses, which may not be that of the daemon.
func TestTheLoginIsThatOfTheResumesEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		session, resume, daemon string
		parked                  bool
	}{
		"as before, and another one for the daemon": {"ann", "ann", "bob", false},
		"another one, and as before for the daemon": {"ann", "bob", "ann", true},
		"not known": {"", "bob", "bob", false},
	} {
		r := Request{Agent: signedIn{}, Daemon: []string{"LOGIN=" + c.daemon}}
		all := &Environment{Base: []string{"LOGIN=" + c.resume}}
		notSent := r.login(resume.Origin{Login: c.session}, all)
		require.Equal(t, c.parked, notSent != nil, name)
	}
}
