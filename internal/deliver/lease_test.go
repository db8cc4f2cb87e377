package deliver

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// otherHosts is a lease among hosts.
type otherHosts struct {
	w         *world
	confirmed error
	tidied    int // how often the agent had tidied up by then
	released  bool
}

func (o *otherHosts) Confirm(context.Context) error {
	o.w.diary.add("no other host has it")
	o.tidied = o.w.agent.tidied
	return o.confirmed
}

func (o *otherHosts) Release(context.Context) { o.released = true }

func sharing(hosts *otherHosts) func(*Options) {
	return func(o *Options) {
		o.HostLease = func(context.Context, resume.Session) (HostLease, *resume.NotSent) { return hosts, nil }
	}
}

func TestASessionThatOtherHostsShareIsHeldUntilItsResumeIsOver(t *testing.T) {
	hosts := new(otherHosts)
	hosts.w = newWorld(t, sharing(hosts))
	hosts.w.run("echo done")
	require.Equal(t, []string{"no other host has it", "sending", "started", "delivered"}, hosts.w.act())
	require.True(t, hosts.released)
}

// ways are the ways to send a prompt.
var ways = map[string]struct {
	way  func(*world)
	done []string // what is done last
	tidy int      // how often the agent had tidied up before
}{
	"a command": {func(*world) {}, []string{"sending", "starts"}, 1},
	"a command that hands it over": {func(w *world) {
		w.agent.talk.Run = &agent.Command{Argv: []string{"true"}, Dir: w.session.Cwd, Unverifiable: true}
	}, []string{"starts"}, 1},
	"a terminal": {func(w *world) {
		w.agent.talk.Type = &agent.Typing{Text: "continue", Judge: func(string) agent.ScreenState { return agent.ScreenState{} }}
	}, []string{"types"}, 0},
}

// onNotedMachine sends the prompt in that way on a machine that only records it.
func (w *world) onNotedMachine(way func(*world)) {
	w.d.machine = noting{w: w}
	if way(w); w.agent.talk != (agent.Plan{}) {
		w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
	}
}

// The steps before a prompt is sent may take longer than the lease among hosts is valid: it is
// confirmed after them, in every way of sending, and nothing is sent without it.
func TestThatNoOtherHostHasItIsConfirmedLast(t *testing.T) {
	t.Parallel()
	const confirmed, nobody = "no other host has it", "not sent: cannot tell whether another machine looks after the session: nobody answered"
	for name, c := range ways {
		t.Run(name, func(t *testing.T) {
			act := func(err error) (*otherHosts, []string) {
				hosts := &otherHosts{confirmed: err}
				hosts.w = newWorld(t, sharing(hosts))
				hosts.w.onNotedMachine(c.way)
				hosts.w.d.Act(t.Context(), hosts.w.now())
				said := hosts.w.diary.all()
				return hosts, said[slices.Index(said, confirmed)+1:]
			}
			hosts, said := act(nil)
			require.Equal(t, c.done, said[:len(c.done)])
			require.Equal(t, c.tidy, hosts.tidied)

			hosts, said = act(errors.New("nobody answered"))
			require.Equal(t, []string{nobody}, said)
			require.Equal(t, hosts.w.agent.owner, hosts.w.now().Owner, "status shows who holds it")
		})
	}
}

// A session may be due again while its lease among hosts is still being released.
func TestASessionIsNotHeldAgainBeforeItWasReleased(t *testing.T) {
	var w *world
	var next *heldLease // of the resume that is due meanwhile
	holds := 0
	w = newWorld(t, func(o *Options) {
		o.HostLease = func(context.Context, resume.Session) (HostLease, *resume.NotSent) {
			holds++
			return releasing(func() { next, _ = w.d.leases.take(w.session.Key) }), nil
		}
	})
	v := &delivery{Deliverer: w.d, session: w.session}
	require.Nil(t, v.pass(t.Context(), []gate{(*delivery).takeLease, (*delivery).askHosts}))
	v.releaseLease(t.Context())
	require.Same(t, v.lease, next, "it waits for the same lock")
	require.Nil(t, v.askHosts(t.Context()))
	require.Equal(t, 2, holds, "hosts are asked anew")
	require.NoError(t, w.d.leases.release(t.Context(), w.session.Key, next))
}

// releasing is a lease that runs a function while it is released.
type releasing func()

func (r releasing) Confirm(context.Context) error { return nil }
func (r releasing) Release(context.Context)       { r() }

func TestASessionIsLeftToTheHostThatLooksAfterIt(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.HostLease = func(context.Context, resume.Session) (HostLease, *resume.NotSent) {
			return nil, &resume.NotSent{Why: "host b looks after it"}
		}
	})
	w.run("touch touched")
	require.Equal(t, []string{"not sent: host b looks after it"}, w.act())
	require.NoFileExists(t, filepath.Join(w.session.Cwd, "touched"))
}
