package deliver

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// otherHosts is what hosts agree on about a session.
type otherHosts struct {
	w         *world
	confirmed error
	released  atomic.Bool
}

func (o *otherHosts) Confirm(context.Context) error {
	o.w.diary.add("no other host has it")
	return o.confirmed
}

func (o *otherHosts) Release(context.Context) { o.released.Store(true) }

func sharing(hosts *otherHosts) func(*Options) {
	return func(o *Options) {
		o.Hold = func(context.Context, resume.Session) (Hold, *resume.NotSent) { return hosts, nil }
	}
}

func TestASessionThatOtherHostsShareIsHeldUntilItsResumeIsOver(t *testing.T) {
	hosts := new(otherHosts)
	hosts.w = newWorld(t, sharing(hosts))
	hosts.w.run("echo done")
	require.Equal(t, []string{"no other host has it", "sending", "started", "delivered"}, hosts.w.act())
	require.Eventually(t, hosts.released.Load, time.Minute, time.Millisecond)
}

func TestNothingIsSentWhereNobodyConfirmsThatNoOtherHostHasIt(t *testing.T) {
	hosts := &otherHosts{confirmed: errors.New("nobody answered")}
	hosts.w = newWorld(t, sharing(hosts))
	hosts.w.run("touch touched")
	said := hosts.w.act()
	require.Equal(t, "not sent: cannot tell whether another machine looks after the session: nobody answered", said[len(said)-1])
	require.NoFileExists(t, filepath.Join(hosts.w.session.Cwd, "touched"))
}

func TestASessionIsLeftToTheHostThatLooksAfterIt(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Hold = func(context.Context, resume.Session) (Hold, *resume.NotSent) {
			return nil, &resume.NotSent{Why: "host b looks after it"}
		}
	})
	w.run("touch touched")
	require.Equal(t, []string{"not sent: host b looks after it"}, w.act())
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
}
