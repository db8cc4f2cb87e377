package processes

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/process"
)

// Servers returns the servers with sessions of the user with that home directory.
func (f Finder) Servers(ctx context.Context, userDir string) (servers []agent.UnwatchedProcess, err error) {
	running, err := f.Running(ctx, f.Is)
	for _, p := range running {
		if !IsServer(p.Args) || p.Mark != "" || !process.SameDir(p.Variable("HOME"), userDir) {
			continue
		}
		if address := f.Address(p.PID); address != "" {
			servers = append(servers, agent.UnwatchedProcess{PID: p.PID, Home: address})
		}
	}
	return servers, err
}

// ServerAt returns the process that listens at an address; 0: none is known.
func (f Finder) ServerAt(address string) int {
	running, err := f.Running(context.Background(), f.Is)
	if err != nil {
		return 0
	}
	at := slices.IndexFunc(running, func(p process.Live) bool { return AttachedTo(p.Args) == "" && f.ListensAt(p.PID, address) })
	if at < 0 {
		return 0
	}
	return running[at].PID
}

// ListensAt reports whether the process listens at the address.
func (f Finder) ListensAt(pid int, address string) bool {
	u, err := url.Parse(address)
	usual := map[string]string{"http": "80", "https": "443"}
	return err == nil && slices.Contains(f.ports(pid), cmp.Or(u.Port(), usual[u.Scheme]))
}

// Address returns the address of a server; empty: it does not listen yet.
func (f Finder) Address(pid int) string {
	ports := f.ports(pid)
	if len(ports) == 0 {
		return ""
	}
	host := cmp.Or(Flags.Parse(process.ProgramArgs(f.Argv(pid))).Value("--hostname"), "0.0.0.0")
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, ports[0])
}

// ports returns the ports that the process listens on.
func (f Finder) ports(pid int) []string {
	var all []string
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		sockets, err := os.ReadFile(f.Path(pid, table))
		if err != nil {
			continue
		}
		for inode, port := range listening(sockets) {
			if f.Opens(pid, "socket:["+inode+"]") {
				all = append(all, port)
			}
		}
	}
	return all
}

// listening returns the listening sockets with their ports, from the kernel's table. Its fields are number, local
// address, remote address, state, …; the tenth is the socket.
func listening(table []byte) map[string]string {
	const listen = "0A"
	sockets := make(map[string]string)
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil {
			sockets[fields[9]] = strconv.FormatUint(n, 10)
		}
	}
	return sockets
}
