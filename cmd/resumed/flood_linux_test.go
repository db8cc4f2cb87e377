package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"resumed/internal/resume"
)

// flood opens hundreds of connections without a token, and keeps each one open as long as possible:
// some send nothing, some begin a request or a body and do not finish it, some do not read the answer.
// It returns when all were opened once; closed ones are opened again until the test ends.
func flood(t *testing.T, address string, many int) {
	openings := []string{
		"",
		"GET /metrics HTTP/1.1\r\nHost: ",
		"POST /pause HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 1000\r\n\r\nx",
		"POST /session/retry HTTP/1.1\r\nHost: " + address + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
		"POST / HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 1000\r\n\r\nx",
		"GET /healthz HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 1000\r\n\r\nx",
		strings.Repeat("GET /metrics HTTP/1.1\r\nHost: "+address+"\r\n\r\n", 100),
	}
	var opened, open sync.WaitGroup
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); open.Wait() })
	for i := range many {
		opened.Add(1)
		open.Go(func() {
			for first := true; ; first = false {
				conn, err := net.Dial("tcp", address)
				if err == nil {
					_, _ = io.WriteString(conn, openings[i%len(openings)]) // if it was closed already, it is opened again
				}
				if first {
					opened.Done()
				}
				if err == nil {
					hold(conn, stop)
				}
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond): // a flood, not a test of the machine
				}
			}
		})
	}
	opened.Wait()
}

// hold returns when the other end closed the connection, or at the stop. It reads no more than needed
// for that.
func hold(conn net.Conn, stop <-chan struct{}) {
	defer conn.Close()
	for {
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// Anyone who can reach the page's port has no token yet, and must not be able to block the daemon:
// descriptors are limited.
func TestStrangersOnThePortStopNothing(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+fastBackoff)
	b.write("bot/resume.sh", recordCall+"echo 'step 2' >> logs/$1.log\n")
	b.start()
	require.NoError(t, unix.Prlimit(b.proc.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}, nil))
	b.reconfigure(bot + served + fastBackoff)
	var address string
	b.until("the page is served", func() bool { address = b.status().Daemon.HTTP; return address != "" })
	stream := visit(t, b.page()).ask(http.MethodGet, "/events", nil)
	defer stream.Body.Close()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for lines := bufio.NewScanner(stream.Body); lines.Scan() && !strings.Contains(lines.Text(), "mybot/far"); {
		}
	}()
	flood(t, address, 200)

	b.write("bot/logs/near.log", "rate limited\n")
	b.until("a session is resumed meanwhile", func() bool { return len(b.calls()) == 1 })
	b.write("bot/logs/far.log", "rate limited, retry in 1h\n") // from here on the account is known to be limited
	b.untilState("far", resume.Waiting)
	select {
	case <-shown:
	case <-time.After(patience):
		t.Fatal("a page that is open is not told")
	}
	out, errOut, code := b.run("status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "far")
	b.until("who asks properly is answered", func() bool {
		answer, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false // closed to make room
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	require.NotContains(t, b.logged(), "too many open files")
}
