package deliver

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// The next daemon knows what the process of a session was started with.
func TestWhatAProcessWasStartedWithIsStored(t *testing.T) {
	w := newWorld(t)
	w.session.LimitedAt = time.Now()
	w.agent.Base = agent.NewBase(agent.About{Name: "fake"}, agent.Options{})
	w.d.identify(t.Context(), w.agent, w.now(), &resume.Owner{PID: os.Getpid()})
	start, ok := w.d.opts.Starts.Get(w.session.Key)
	require.True(t, ok)
	require.Equal(t, os.Getpid(), start.Process.PID)
	require.Equal(t, start.Process, w.now().Origin.Process)
}
