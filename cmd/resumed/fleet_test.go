package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/fleet/fleettest"
	"resumed/internal/resume"
)

// hubBox is the machine with the hub.
type hubBox struct {
	*box
	line string
	proc *exec.Cmd
}

func newHubBox(t *testing.T) *hubBox {
	h := &hubBox{box: newBox(t)}
	h.init("hub")
	return h
}

// init makes a hub, and stores its join line.
func (h *hubBox) init(dir string) {
	t := h.t
	address := fleettest.Addresses(t, 1)[0]
	out, errOut, code := h.run("hub", "init", "--dir", h.path(dir), "--listen", address)
	require.Zero(t, code, errOut)
	require.Contains(t, errOut, "listens on "+address+", which only this machine can reach")
	require.Contains(t, errOut, "lets in 10 machines")
	require.Equal(t, 1, strings.Count(out, "\n"), "one line for all hosts")
	require.True(t, strings.HasPrefix(out, "resumed fleet join tls://127.0.0.1:"), out)
	h.line = strings.TrimSpace(out)
}

func (h *hubBox) serve() {
	h.t.Helper()
	before := strings.Count(h.logged(), "msg=ready")
	h.proc = h.command("hub", "--dir", h.path("hub"))
	require.NoError(h.t, h.proc.Start())
	h.t.Cleanup(func() { h.end(syscall.SIGKILL) })
	h.until("the hub is ready", func() bool { return strings.Count(h.logged(), "msg=ready") > before })
}

// end stops the hub and returns its exit code.
func (h *hubBox) end(sig syscall.Signal) int {
	if h.proc == nil {
		return -1
	}
	_ = h.proc.Process.Signal(sig)
	_ = h.proc.Wait()
	code := h.proc.ProcessState.ExitCode()
	h.proc = nil
	return code
}

// host is a machine of the fleet. The resumes of all machines are recorded in the file notes.
func (h *hubBox) host(name string) *box {
	h.t.Helper()
	b := &box{t: h.t, binary: program, home: h.t.TempDir()}
	b.daemon = control.NewClient(b.path("runtime", "resumed"))
	h.t.Cleanup(b.sweep)
	require.NoError(h.t, os.Mkdir(b.path("bot"), 0o755))
	require.NoError(h.t, os.Mkdir(b.path("tmp"), 0o755))
	b.write(configFile, "[resume]\nmargin = \"0s\"\nstagger = \"500ms\"\nmax_concurrent = 4\n"+strings.Replace(bot, "kind =", "account = \"team\"\nkind =", 1))
	b.write("bot/resume.sh", fmt.Sprintf("echo \"begun %s $1\" >> %[2]s; sleep 1; echo \"ended %[1]s $1\" >> %[2]s; echo \"step 2\" >> logs/$1.log\n", name, h.path("notes")))
	b.appendTo(configFile, "\n[http]\nlisten = \"127.0.0.1:0\"\n[fleet]\nheartbeat = \"3s\"\n")
	out, errOut, code := b.run("fleet", "join", h.line, "--name", name)
	require.Zero(h.t, code, out+errOut)
	require.Contains(h.t, out, name)
	return b
}

func (b *box) inFleet(state string, hosts int) func() bool {
	return func() bool {
		f := b.status().Daemon.Fleet
		return f != nil && f.State == state && f.Hosts >= hosts
	}
}

// figure sums up a metric of the hosts, with that label unless it is "".
func figure(hosts []*box, name, label string) (sum int) {
	for _, b := range hosts {
		for _, m := range b.scrape()[name].GetMetric() {
			if label == "" || m.GetLabel()[0].GetValue() == label {
				sum += int(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			}
		}
	}
	return sum
}

// pagesOf requests all pages with that many sessions, and returns the sessions on them.
func pagesOf(b *box, most int) map[string]bool {
	found := make(map[string]bool)
	for after, more := "", true; more; more = after != "" {
		page, err := b.daemon.Fleet(b.t.Context(), after, most)
		if err != nil || len(page.Sessions) > most {
			return nil
		}
		for _, s := range page.Sessions {
			found[s.Host+"/"+s.ID] = true
		}
		after = page.Next
	}
	return found
}

// One account on three machines: one of them tries whether the limit is over, and the others follow.
// Without the hub each works alone, and with it they are a fleet again.
func TestMachinesOfOneAccountTryALimitOnce(t *testing.T) {
	h := newHubBox(t)
	early := h.host("early") // there is no hub yet
	h.serve()
	hosts := []*box{early, h.host("second"), h.host("third")}
	for _, b := range hosts {
		b.start()
	}
	for _, b := range hosts {
		b.until("all are there", b.inFleet("connected", 3))
	}
	for i, b := range hosts {
		_, errOut, code := b.run("pause") // so that all wait at the same time, however long that takes
		require.Zero(t, code, errOut)
		for n := range 4 {
			b.write(fmt.Sprintf("bot/logs/s-%d-%d.log", i, n), "step 1\nrate limited, retry in 2s\n")
		}
	}
	var fleet control.Fleet
	hosts[0].until("all sessions are seen", func() bool {
		var err error
		fleet, err = hosts[0].daemon.Fleet(t.Context(), "", 100)
		return err == nil && len(fleet.Sessions) == 12 && len(fleet.Accounts) == 1 && fleet.Accounts[0].State == "open" && fleet.Accounts[0].Sessions == 12
	})
	require.Len(t, fleet.Hosts, 3)
	require.Equal(t, 3, fleet.Accounts[0].Hosts)
	hosts[1].until("all of them are on its pages", func() bool { return len(pagesOf(hosts[1], 5)) == 12 })
	require.Empty(t, fleet.Sessions[0].Text, "texts stay where they are")
	for _, b := range hosts {
		_, errOut, code := b.run("unpause")
		require.Zero(t, code, errOut)
	}
	for i, b := range hosts {
		for n := range 4 {
			b.untilState(fmt.Sprintf("s-%d-%d", i, n), resume.Watching)
		}
	}
	notes := strings.Split(strings.TrimSpace(h.read("notes")), "\n")
	require.Len(t, notes, 24, "each session was resumed once")
	require.Contains(t, notes[0], "begun")
	require.Contains(t, notes[1], "ended", "one tried alone: %q", notes)

	require.Equal(t, 1, figure(hosts, "resumed_fleet_probes_total", "moved"), "of all hosts one tried")
	require.Positive(t, figure(hosts, "resumed_fleet_cas_total", "won"))
	hosts[0].until("each sees three", func() bool { // on a busy machine a heartbeat may be late
		return figure(hosts, "resumed_fleet_hosts", "") == 9 && figure(hosts, "resumed_fleet_connected", "") == 3
	})

	out, errOut, code := hosts[1].run("status", "--fleet", "--json")
	require.Zero(t, code, errOut)
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	require.Contains(t, document, "accounts")
	out, _, code = hosts[1].run("status", "--fleet")
	require.Zero(t, code)
	require.Contains(t, out, "host early: alive")
}

func TestAMachineThatIsRemovedGoesOnAlone(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	gone, stays := h.host("gone"), h.host("stays")
	for _, b := range []*box{gone, stays} {
		b.start()
	}
	stays.until("both are there", stays.inFleet("connected", 2))
	out, errOut, code := h.run("hub", "list", "--dir", h.path("hub"))
	require.Zero(t, code, errOut)
	require.Contains(t, out, "gone  ")
	require.Contains(t, out, "still lets in 8 machines")
	out, errOut, code = h.run("hub", "remove", "gone", "--dir", h.path("hub"))
	require.Zero(t, code, errOut)
	require.Contains(t, out, "gone is removed")
	out, errOut, code = h.run("hub", "list", "--json", "--dir", h.path("hub"))
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "gone")
	require.Contains(t, out, `"lines":[]`, "the old line would let it in again")
	out, errOut, code = h.run("hub", "invite", "gone", "--dir", h.path("hub"))
	require.Zero(t, code, errOut)
	require.Contains(t, errOut, "lets in gone, once")
	gone.until("it knows that it is out", func() bool {
		f := gone.status().Daemon.Fleet
		return f.State == "alone" && strings.Contains(f.Why, "does not know this machine")
	})
	gone.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1s\n")
	gone.untilState("s-1", resume.Watching)
	require.Contains(t, h.read("notes"), "ended gone s-1", "it goes on by what it knows itself")
	require.Equal(t, 1, strings.Count(gone.logged(), "does not let this host in"), "that is said once")
	require.True(t, stays.inFleet("connected", 1)())

	_, errOut, code = gone.run("fleet", "join", out, "--name", "gone")
	require.Zero(t, code, errOut)
	keys := gone.read(".config/resumed/fleet.credentials")
	_, errOut, code = gone.run("fleet", "join", h.line, "--name", "gone")
	require.NotZero(t, code)
	require.Contains(t, errOut, "the line no longer works")
	require.Equal(t, keys, gone.read(".config/resumed/fleet.credentials"), "what it joined with stays")
	stays.until("it is back", stays.inFleet("connected", 2))
}

// A machine joins with a line that is not shown, and leaves no trace.
func TestAMachineJoinsUnseenAndLeaves(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	b := h.host("first")
	before := b.read(configFile)
	out, errOut, code := b.run("fleet", "leave")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "has left the fleet")
	require.Contains(t, out, "resumed hub remove first")
	require.NotContains(t, b.read(configFile), "tls://")
	for _, file := range []string{"fleet.credentials", "fleet-ca.pem"} {
		require.NoFileExists(t, b.path(".config/resumed", file))
	}
	_, errOut, code = b.run("fleet", "leave")
	require.NotZero(t, code)
	require.Contains(t, errOut, "in no fleet")

	_, errOut, code = b.runWith(h.line+"\n", "fleet", "join", "--name", "unseen", "-")
	require.Zero(t, code, errOut)
	require.Contains(t, b.read(configFile), strings.Split(before, "\n")[0])
	b.start()
	b.until("it is there", b.inFleet("connected", 1))
	_, errOut, code = b.run("fleet", "leave")
	require.Zero(t, code, errOut)
	b.until("it goes on alone", func() bool { return b.status().Daemon.Fleet == nil })
	_, errOut, code = b.runWith("nonsense", "fleet", "join", "-")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "hub init")
}

func TestASessionOfAnotherMachineIsSteered(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	here, there := h.host("here"), h.host("there")
	here.start()
	here.until("it is there", here.inFleet("connected", 1))
	there.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	there.start()
	there.untilState("s-1", resume.Waiting)
	here.until("its session is listed", func() bool {
		f, err := here.daemon.Fleet(t.Context(), "", 10)
		for _, host := range f.Hosts {
			require.Equal(t, "alive", host.State, "%s has just started", host.Name)
		}
		return err == nil && len(f.Sessions) == 1
	})
	here.until("both are there", here.inFleet("connected", 2))
	_, errOut, code := here.run("retry", "there/bot")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "nothing was done: on there: the provider asked to wait until ", "as at the machine itself")
	require.Contains(t, errOut, "the same command with --now")
	require.Empty(t, h.read("notes"))
	_, errOut, code = here.run("pause", "there/s-1")
	require.Zero(t, code, errOut)
	require.True(t, there.session("s-1").Paused)
	_, errOut, code = here.run("pause", "there/unknown")
	require.Equal(t, exitNoSession, code)
	require.Contains(t, errOut, "resumed status --fleet")
	_, errOut, code = here.run("pause", "nowhere/s-1")
	require.NotZero(t, code)
	require.Contains(t, errOut, "no host of that name")
	require.Contains(t, there.logged(), "asked for by another machine")
	for _, order := range [][]string{{"unpause", "there/s-1"}, {"cancel", "--stop", "there/s-1"}} {
		_, errOut, code = here.run(order...)
		require.NotZero(t, code)
		require.Contains(t, errOut, "not taken from another machine, which may ask for retry, cancel or pause")
	}
	require.True(t, there.session("s-1").Paused)
	_, errOut, code = here.run("cancel", "there/s-1")
	require.Zero(t, code, errOut)
	there.untilState("s-1", resume.Watching)
	history, errOut, code := there.run("history")
	require.Zero(t, code, errOut)
	require.Contains(t, history, "asked for by machine here")
	require.Contains(t, history, "cancelled by machine here")

	there.write("bot/logs/s-2.log", "step 1\nrate limited, retry in 1h\n")
	there.untilState("s-2", resume.Waiting)
	open := func() bool {
		f, err := here.daemon.Fleet(t.Context(), "", 10)
		return err == nil && len(f.Accounts) == 1 && f.Accounts[0].State == "open" && f.Accounts[0].By == "there"
	}
	here.until("the limit is known here", open)
	id := func() string {
		f, err := here.daemon.Fleet(t.Context(), "", 10)
		require.NoError(t, err)
		return f.Accounts[0].ID
	}()
	out, errOut, code := here.run("fleet", "forget", id)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "forgot")
	require.False(t, open())
	_, errOut, code = here.run("fleet", "forget", "nobody")
	require.NotZero(t, code)
	require.Contains(t, errOut, "status --fleet")
}

func TestWithoutAFleetNothingIsSaidOfOne(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	require.Nil(t, b.status().Daemon.Fleet)
	_, errOut, code := b.run("status", "--fleet")
	require.NotZero(t, code)
	require.Contains(t, errOut, "in no fleet")
	_, errOut, code = b.run("fleet", "join", "nonsense")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "hub init")
	require.NotContains(t, b.read(configFile), "[fleet]")
}

func TestStatusSaysWhyAFleetCannotBeJoined(t *testing.T) {
	b := newHubBox(t).host("box")
	require.NoError(t, os.Remove(b.path(".config/resumed/fleet.credentials")))
	b.start()
	b.until("it has tried", func() bool { return b.status().Daemon.Fleet.Why != "" })
	why := "this host is not in its fleet: read credentials: " + b.path(".config/resumed/fleet.credentials") + " does not exist (joining is tried again each minute)"
	require.Equal(t, why, b.status().Daemon.Fleet.Why)
	out, errOut, code := b.run("status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "fleet: alone, as box with 1 host: "+why)
}

// The hub is lost and comes back: no machine stops because of that.
func TestAHubThatIsKilledIsDoneWithout(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	b := h.host("box")
	b.start()
	b.until("it is there", b.inFleet("connected", 1))
	require.NotZero(t, h.end(syscall.SIGKILL))
	b.until("the loss is shown", b.inFleet("alone", 1))
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1s\n")
	b.within(2*patience, "it goes on alone", func() bool { return strings.Contains(h.read("notes"), "ended box s-1") })
	h.serve()
	b.until("it is with the fleet again", b.inFleet("connected", 1))
	require.Zero(t, h.end(syscall.SIGTERM), "it is ended by SIGTERM as asked")
}
