package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/fleettest"
	"resumed/internal/fleet/natskv"
)

// nodeEnv makes this test binary run as a server.
const nodeEnv = "HUB_TEST_NODE"

// killsEnv is how often servers are killed: CI sets it to a hundred, and all servers are killed.
const killsEnv = "HUB_TEST_KILLS"

// seat is the place of a server; without a name it is not in a cluster.
type seat struct {
	Dir, Name, Listen, Routes string
	Unlimited                 bool
}

// firstName is the name of the server that makes the streams of a cluster.
const firstName = "node-0"

func TestMain(m *testing.M) {
	mostBytes[fleet.Accounts], mostNoticeBytes = 4<<20, 8<<20 // they are filled on a disk that may be slow
	if text := os.Getenv(nodeEnv); text != "" {
		os.Exit(runNode(text))
	}
	if file := os.Getenv(stockEnv); file != "" {
		os.Exit(runStock(file))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for disks and clocks, and compute little
		panic(err)
	}
	os.Exit(m.Run())
}

func runNode(text string) int {
	var s seat
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := Options{Dir: s.Dir, Log: slog.New(slog.DiscardHandler), Ready: func(string) { fmt.Println("ready") }, unlimited: s.Unlimited}
	if s.Name != "" {
		o = clustered(o, s)
	}
	if err := Serve(ctx, o); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// node is a server in its own process.
type node struct {
	seat
	proc  *exec.Cmd
	ready chan bool
}

func (n *node) start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(n.seat)
	require.NoError(t, err)
	n.proc = exec.Command(os.Args[0])
	n.proc.Env = append(os.Environ(), nodeEnv+"="+string(text))
	out, err := n.proc.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, n.proc.Start())
	n.ready = make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		n.ready <- lines.Scan() && lines.Text() == "ready"
	}()
}

// process starts a server and waits until it is ready.
func process(t *testing.T, s seat) *node {
	t.Helper()
	n := &node{seat: s}
	n.start(t)
	t.Cleanup(n.kill)
	require.True(t, n.wait())
	return n
}

func (n *node) kill() {
	_ = n.proc.Process.Kill()
	_ = n.proc.Wait()
}

// wait reports whether the server is ready in time.
func (n *node) wait() bool {
	select {
	case ok := <-n.ready:
		return ok
	case <-time.After(2 * limit):
		return false
	}
}

// formed starts three servers. If another program takes one of their addresses first, it tries others.
func formed(t *testing.T) (nodes []*node, invitation natskv.Invitation, urls string) {
	t.Helper()
	for range 3 {
		seats, invitation, urls := threeSeats(t)
		nodes, ready := make([]*node, len(seats)), true
		for i, s := range seats {
			nodes[i] = &node{seat: s}
			nodes[i].start(t)
			t.Cleanup(nodes[i].kill)
		}
		for _, n := range nodes {
			ready = ready && n.wait()
		}
		if ready {
			return nodes, invitation, urls
		}
		for _, n := range nodes {
			n.kill()
		}
	}
	t.Fatal("the servers do not meet")
	return nil, natskv.Invitation{}, ""
}

// counter is a number that several servers store: it is written again and again, each time at the
// revision that was read.
type counter struct {
	s     *natskv.Store
	n     int
	rev   uint64
	acked int
}

// rise writes the next number, as soon as the servers accept it.
func (c *counter) rise(t *testing.T) {
	t.Helper()
	until(t, "it is written again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		rev, err := c.s.Update(ctx, fleet.Accounts, "n.x", strconv.AppendInt(nil, int64(c.n+1), 10), c.rev, 0)
		if err == nil {
			require.Greater(t, rev, c.rev)
			c.n, c.rev, c.acked = c.n+1, rev, c.n+1
			return true
		}
		if e, err := c.s.Get(ctx, fleet.Accounts, "n.x"); err == nil { // it may have been written anyway
			seen, err := strconv.Atoi(string(e.Value))
			require.NoError(t, err)
			if e.Rev > c.rev {
				c.n, c.rev = seen, e.Rev
			}
		}
		return false
	})
}

// Servers are killed while they work, one after the other. What was acknowledged is never lost, and
// writes always succeed again later.
func TestNothingIsLostWhenServersAreKilled(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv(killsEnv))
	victims := 3
	if err != nil {
		kills, victims = 3, 1
	}
	nodes, invitation, urls := formed(t)
	o := guestOf(t, invitation, "box", urls)
	o.Within = time.Second
	require.NoError(t, natskv.Register(t.Context(), o))
	c := &counter{s: open(t, o)}
	c.rev, err = c.s.Update(t.Context(), fleet.Accounts, "n.x", []byte("0"), 0, 0)
	require.NoError(t, err)

	var longest time.Duration
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		n := nodes[i*victims/kills] // its first kill may cause elections; after that it is not the leader
		began, killed := time.Now(), make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(time.Duration(dice.IntN(3)) * time.Millisecond)
			n.kill()
		}()
		c.rise(t)
		<-killed
		c.rise(t)
		longest = max(longest, time.Since(began))
		n.start(t)
		require.True(t, n.wait(), "it is there again")
	}
	t.Logf("killed %d times; %d numbers written, again after %s at most", kills, c.acked, longest.Round(time.Millisecond))
	for _, n := range nodes {
		o.URL = "tls://" + n.address(t)
		s := open(t, o)
		until(t, n.Name+" has what was acknowledged", func() bool {
			e, err := s.Get(t.Context(), fleet.Accounts, "n.x")
			seen, err2 := strconv.Atoi(string(e.Value))
			return err == nil && err2 == nil && seen >= c.acked
		})
	}
}

func (n *node) address(t *testing.T) string {
	s, err := read(n.Dir)
	require.NoError(t, err)
	return s.Listen
}

// threeSeats creates the places of a cluster of three servers, and returns them with the addresses of
// all.
func threeSeats(t *testing.T) (seats []seat, invitation natskv.Invitation, urls string) {
	dir, invitation := newHub(t)
	const n = 3
	var routes, all []string
	free := fleettest.Addresses(t, 2*n)
	for _, address := range free[:n] {
		routes = append(routes, "nats://"+address)
	}
	for i, address := range free[:n] {
		own := shared(t, dir)
		s, err := read(own)
		require.NoError(t, err)
		s.Listen = free[n+i]
		require.NoError(t, s.write(own))
		all = append(all, "tls://"+s.Listen)
		seats = append(seats, seat{own, fmt.Sprintf("node-%d", i), address, strings.Join(routes, ","), false})
	}
	return seats, invitation, strings.Join(all, ",")
}
