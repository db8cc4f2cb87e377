package runner

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Every shell that may be /bin/sh sets the same limits.
func TestShellsSetTheLimitsOfASession(t *testing.T) {
	limits := resume.ProcessLimits{Umask: "0027", Resources: make([]resume.Resource, 16)}
	for i := range limits.Resources {
		limits.Resources[i] = resume.Resource{Soft: unlimited, Hard: unlimited}
	}
	limits.Resources[7] = resume.Resource{Soft: 200, Hard: 300}
	limits.Resources[9] = resume.Resource{Soft: 8 << 30, Hard: unlimited}
	for _, name := range []string{"sh", "dash", "bash", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // sh is always there
		}
		argv := []string{"-c", script(limits) + "umask; ulimit -S -n; ulimit -H -n; ulimit -v"}
		if name == "busybox" {
			argv = append([]string{"sh"}, argv...)
		}
		out, err := exec.Command(path, argv...).CombinedOutput()
		require.NoError(t, err, name)
		require.Equal(t, []string{"0027", "200", "300", "8388608"}, strings.Fields(string(out)), name)
	}
	require.Empty(t, script(resume.ProcessLimits{}), "what is not known is not set")
}
