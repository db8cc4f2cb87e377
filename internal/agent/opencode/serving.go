package opencode

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/process"
)

// isServer reports whether a process of these arguments works for others.
func isServer(args []string) bool {
	return slices.Contains([]string{"serve", "web", "acp"}, command(args))
}

// attachedTo returns the server that a process of these arguments only shows;
// empty: it works by itself.
func attachedTo(args []string) string {
	_, name, after := flags.Parse(args).Cut()
	switch plain := after.Plain(); {
	case name == "attach" && len(plain) > 0:
		return plain[0]
	case name == "run":
		return after.Value("--attach")
	default:
		return ""
	}
}

// serverAt returns the process that listens at an address; 0: none is known.
func (a *Agent) serverAt(address string) int {
	running, err := a.Processes.Running(context.Background(), a.brand.isProgram)
	if err != nil {
		return 0
	}
	at := slices.IndexFunc(running, func(p process.Live) bool { return attachedTo(p.Args) == "" && a.listensAt(p.PID, address) })
	if at < 0 {
		return 0
	}
	return running[at].PID
}

// Unwatched returns the servers that work on sessions of the user's where none is
// configured.
func (a *Agent) Unwatched(ctx context.Context) ([]agent.UnwatchedProcess, error) {
	if a.server != nil {
		return nil, nil
	}
	running, err := a.Processes.Running(ctx, a.brand.isProgram)
	var strays []agent.UnwatchedProcess
	for _, p := range running {
		if !isServer(p.Args) || p.Mark != "" || !process.SameDir(p.Variable("HOME"), a.UserDir) {
			continue
		}
		if address := a.addressOf(p.PID); address != "" {
			strays = append(strays, agent.UnwatchedProcess{PID: p.PID, Home: address})
		}
	}
	return strays, err
}

// listensAt reports whether the process listens where the address leads.
func (a *Agent) listensAt(pid int, address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(a.ports(pid), portOf(u))
}

// addressOf returns where a server is reached; empty: it listens nowhere yet.
func (a *Agent) addressOf(pid int) string {
	ports := a.ports(pid)
	if len(ports) == 0 {
		return ""
	}
	host := cmp.Or(flags.Parse(process.ProgramArgs(a.Processes.Argv(pid))).Value("--hostname"), "0.0.0.0")
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, ports[0])
}

// setting says what makes a server known to resumed.
func setting(address string) string { return fmt.Sprintf("set server = %q in [[agent]]", address) }

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// ports returns those that the process listens on.
func (a *Agent) ports(pid int) []string {
	var all []string
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		sockets, err := os.ReadFile(a.Processes.Path(pid, table))
		if err != nil {
			continue
		}
		for port, inode := range listening(sockets) {
			if a.Processes.Opens(pid, "socket:["+inode+"]") {
				all = append(all, port)
			}
		}
	}
	return all
}

// listening yields the ports that somebody listens on and their sockets, from the
// kernel's table: number, local address, remote address, state, …; the tenth field
// is the socket.
func listening(table []byte) iter.Seq2[string, string] {
	const listen = "0A"
	return func(yield func(port, inode string) bool) {
		for line := range bytes.Lines(table) {
			fields := strings.Fields(string(line))
			if len(fields) < 10 || fields[3] != listen {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err == nil && !yield(strconv.FormatUint(n, 10), fields[9]) {
				return
			}
		}
	}
}
