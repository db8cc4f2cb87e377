package notifytest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// RealNtfy is the real ntfy server. It has the same address and messages after a restart: a proxy in
// front of it forwards everything to its socket.
type RealNtfy struct {
	URL string

	program string
	options []string
	log     string
	inside  http.Client
	run     *exec.Cmd
	ended   chan struct{}
}

// NewRealNtfy starts the server with some options, and skips the test if it is not installed.
func NewRealNtfy(t *testing.T, options ...string) *RealNtfy {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: a server of ntfy is started")
	}
	program, err := exec.LookPath("ntfy")
	if err != nil || exec.Command(program, "serve", "--help").Run() != nil { // there are other programs of that name
		t.Skip("SKIPPED: no server of ntfy is installed")
	}
	dir, err := os.MkdirTemp("", "ntfy") // the name of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	config, socket := filepath.Join(dir, "server.yml"), filepath.Join(dir, "socket")
	require.NoError(t, os.WriteFile(config, nil, 0o600)) // not the configuration of the machine
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	n := &RealNtfy{program: program, log: filepath.Join(dir, "log")}
	n.inside.Transport = &http.Transport{DialContext: dial, DisableKeepAlives: true}
	n.options = append([]string{"serve", "--config", config, "--cache-file", filepath.Join(dir, "cache.db"), "--listen-http", "-", "--listen-unix", socket}, options...)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n.URL = "http://" + front.Addr().String()
	go n.handOn(front, dial)
	t.Cleanup(func() {
		n.Stop()
		front.Close()
	})
	n.Start(t)
	return n
}

// handOn forwards connections to the server, until the listener is closed.
func (n *RealNtfy) handOn(front net.Listener, dial func(context.Context, string, string) (net.Conn, error)) {
	for {
		phone, err := front.Accept()
		if err != nil {
			return
		}
		go func() {
			defer phone.Close()
			server, err := dial(context.Background(), "", "")
			if err != nil {
				return
			}
			defer server.Close()
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				_, _ = io.Copy(server, phone)
				_, _ = io.Copy(io.Discard, phone) // a server that refuses does not read to the end
			}()
			_, _ = io.Copy(phone, server)
			_ = phone.(*net.TCPConn).CloseWrite()
			<-asked
		}()
	}
}

// Start starts it.
func (n *RealNtfy) Start(t *testing.T) {
	t.Helper()
	output, err := os.OpenFile(n.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer output.Close()
	n.run, n.ended = exec.Command(n.program, n.options...), make(chan struct{})
	n.run.Stdout, n.run.Stderr = output, output
	require.NoError(t, n.run.Start())
	go func(run *exec.Cmd, ended chan struct{}) {
		_ = run.Wait()
		close(ended)
	}(n.run, n.ended)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		resp, err := n.inside.Get("http://ntfy/v1/health")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-n.ended:
			deadline = time.Time{}
		case <-time.After(20 * time.Millisecond):
		}
	}
	said, _ := os.ReadFile(n.log)
	t.Fatalf("ntfy does not start:\n%s", said)
}

// Stop kills it.
func (n *RealNtfy) Stop() {
	_ = n.run.Process.Kill()
	<-n.ended
}

// Poll returns the messages of a topic on an ntfy server; token: for topics that are not public.
func Poll(t *testing.T, server, topic, token string) []NtfyMessage {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/"+topic+"/json?poll=1&since=all", http.NoBody)
	require.NoError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var all []NtfyMessage
	for lines := json.NewDecoder(resp.Body); ; {
		var m NtfyMessage
		err := lines.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, m)
	}
}
