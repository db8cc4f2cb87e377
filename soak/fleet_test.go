package soak

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet/fleettest"
)

// teambot has an account that the machines share.
const teambot = `
[[agent]]
name = "teambot"
kind = "custom"
account = "team"
files = ["%[1]s/team/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "%[1]s/team"
limit = ['rate limited, retry in (?P<after>\S+)', 'rate limited, later']
progress = ['^step ']
resume = ["%[1]s/continue", "{session}"]
[fleet]
heartbeat = "1s"
`

// machine is the second one of a fleet, with the hub. Its daemon is killed like the other one.
type machine struct {
	*world
	orders
	hub      *exec.Cmd
	lives    bool
	awaits   int       // how many of its ordered runs must have begun before it is ended
	patience time.Time // or until then
}

// joinFleet makes a second machine and a hub, and both join.
func (w *world) joinFleet() {
	second := &world{t: w.t, dice: w.dice, home: filepath.Join(w.home, "second"), binary: w.binary, kills: w.kills}
	second.furnish(waiter + teambot)
	second.set(0)
	w.second = &machine{world: second, orders: newOrders(second)}
	hub := filepath.Join(filepath.Dir(w.binary), "resumed-hub")
	begin := exec.Command(hub, "init", "--dir", filepath.Join(w.home, "hub"), "--listen", fleettest.Addresses(w.t, 1)[0])
	begin.Env = w.environ()
	line, err := begin.Output()
	require.NoError(w.t, err)
	w.second.serve(hub, filepath.Join(w.home, "hub"))
	w.t.Cleanup(func() { _ = w.second.hub.Process.Kill(); _ = w.second.hub.Wait() })
	for name, m := range map[string]*world{"first": w, "second": second} {
		join := m.command("fleet", "join", strings.TrimSpace(string(line)), "--name", name)
		require.NoError(w.t, join.Run(), "%s", join.Stderr)
	}
}

func (m *machine) serve(hub, dir string) {
	m.hub = exec.Command(hub, "--dir", dir)
	m.hub.Env = m.environ()
	require.NoError(m.t, m.hub.Start())
}

// turn begins and ends the second machine's daemon, and now and then the hub.
func (m *machine) turn() {
	switch {
	case m.dice.IntN(2000) == 0:
		require.NoError(m.t, m.hub.Process.Kill())
		_ = m.hub.Wait()
		m.serve(m.hub.Path, m.hub.Args[2])
	case !m.lives && m.dice.IntN(4) == 0:
		m.start()
		m.awaits, m.patience = m.runs()+m.dice.IntN(2), time.Now().Add(10*time.Second)
	case m.lives && m.dice.IntN(60) == 0 && (m.runs() >= m.awaits || time.Now().After(m.patience)):
		m.stop([]syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM}[m.dice.IntN(3)])
	}
	if m.dice.IntN(10) == 0 {
		m.retry()
	}
}

func (m *machine) start() {
	m.daemon = m.command("run")
	require.NoError(m.t, m.daemon.Start())
	m.lives = true
}

func (m *machine) stop(signal syscall.Signal) {
	if m.lives {
		m.end(signal)
		m.lives = false
	}
}

// holdTogether lets one machine meet a limit of the account that they share, kills it, and checks
// that neither goes on before the limit is over.
func (w *world) holdTogether() {
	w.set(0)
	w.daemon = w.command("run")
	require.NoError(w.t, w.daemon.Start())
	w.second.start()
	both := []*world{w, w.second.world}
	for _, m := range both {
		w.until("they are a fleet", func() bool {
			var known struct {
				Daemon struct {
					Fleet struct {
						State string
						Hosts int
					}
				}
			}
			return m.ask(&known, "status", "--json") && known.Daemon.Fleet.State == "connected" && known.Daemon.Fleet.Hosts == 2
		})
	}
	w.dice.Shuffle(2, func(i, j int) { both[i], both[j] = both[j], both[i] })
	one, other := both[0], both[1]
	one.meet(one.team, "team/logs", "t-last", "retry in 1h")
	w.until("the other one knows the limit", func() bool {
		var known struct {
			Accounts []struct {
				State   string
				ResetAt time.Time `json:"reset_at"`
			}
		}
		return other.ask(&known, "status", "--fleet", "--json") && len(known.Accounts) == 1 && time.Until(known.Accounts[0].ResetAt) > 30*time.Minute
	})
	other.meet(other.team, "team/logs", "t-last", "later")
	one.end(syscall.SIGKILL)
	one.daemon = one.command("run")
	require.NoError(w.t, one.daemon.Start())
	for begun, waiting := time.Now(), 0; waiting < len(both) || time.Since(begun) < 3*time.Second; time.Sleep(50 * time.Millisecond) {
		waiting = 0
		for _, m := range both {
			m.team.read()
			require.Zero(w.t, m.team.tries["t-last 1"], "it went on before the limit that they share was over")
			require.Less(w.t, time.Since(begun), time.Minute)
			if left := m.unsettled(); len(left) == 1 && strings.Contains(left[0], "t-last is waiting") {
				waiting++
			}
		}
	}
	one.end(syscall.SIGTERM)
	other.end(syscall.SIGTERM)
	w.second.lives = false
}

// ask reads what a command says, if it says it.
func (w *world) ask(answer any, args ...string) bool {
	out, err := w.command(args...).Output()
	return err == nil && json.Unmarshal(out, answer) == nil
}
