package runenv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

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
		r := Request{Agent: bot{}, Daemon: []string{"LOGIN=" + c.daemon}}
		all := &Environment{Base: []string{"LOGIN=" + c.resume}}
		notSent := r.login(resume.Origin{Login: c.session}, all)
		require.Equal(t, c.parked, notSent != nil, name)
	}
}
