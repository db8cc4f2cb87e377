package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet/natskv"
)

// cluster is how the servers of a test are one, as those of a NATS cluster are.
type cluster struct {
	name   string // of this one
	listen string // where the others reach it
	routes string
}

// Options say which hub is served.
type Options struct {
	Dir   string
	Log   *slog.Logger
	Ready func(address string) // is told when hosts can come

	cluster *cluster // nil: it is alone
}

// startLimit is how long a server may take to read what it kept, and a cluster to meet.
const startLimit = time.Minute

// Serve is the hub until ctx is done.
func Serve(ctx context.Context, o Options) error {
	s, err := read(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return noHub(o.Dir)
	}
	if err != nil {
		return err
	}
	self, err := natskv.NewCredentials()
	if err != nil {
		return err
	}
	known := &hosts{dir: o.Dir, hub: self.Public(), log: o.Log}
	options, err := o.server(s, known)
	if err != nil {
		return err
	}
	ns, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("make the hub's server: %w", err)
	}
	ns.SetLoggerV2(logger{o.Log}, false, false, false)
	known.ns = ns
	if err := offer(ns.GlobalAccount()); err != nil {
		return err
	}
	ns.Start()
	defer func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	}()
	if !ns.ReadyForConnections(startLimit) {
		return fmt.Errorf("the hub cannot listen on %s: is another there? Its log says more", s.Listen)
	}
	nc, err := natskv.InProcess(ns, self)
	if err != nil {
		return fmt.Errorf("reach the hub's own server: %w", err)
	}
	defer nc.Close()
	if err := prepare(ctx, nc); err != nil {
		return err
	}
	if _, err := natskv.Receive(nc, known.let); err != nil {
		return err
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	return known.keepOut(ctx, ns, o.Log, func() { o.Ready(ns.Addr().String()) })
}

// prepare makes the streams. In a cluster there is none to ask before most of it is there.
func prepare(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("the hub's servers did not agree in time"))
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second) // who has no leader does not answer
		err := natskv.Ensure(try, js)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (o Options) server(s settings, known *hosts) (*server.Options, error) {
	signer, err := readAuthority(o.Dir)
	if err != nil {
		return nil, err
	}
	host, port, err := hostPort(s.Listen)
	if err != nil {
		return nil, err
	}
	names := func() []string { return append(namesOf(host), s.host()) }
	const largestMessage = 256 << 10
	options := &server.Options{
		ServerName: "resumed-hub", Host: host, Port: port, NoSigs: true, MaxPayload: largestMessage,
		JetStream: true, StoreDir: filepath.Join(o.Dir, dataDir), SyncAlways: true, DisableJetStreamBanner: true,
		TLSConfig: signer.secure(names), TLS: true, TLSTimeout: 10, AuthTimeout: 15,
		CustomClientAuthentication: known, AlwaysEnableNonce: true,
	}
	if c := o.cluster; c != nil {
		options.ServerName = c.name
		options.Cluster.Name = "resumed"
		options.Cluster.Host, options.Cluster.Port, err = hostPort(c.listen)
		options.Routes = server.RoutesFromStr(c.routes)
	}
	return options, err
}

func hostPort(address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no address to listen on: %w", address, err)
	}
	n, err := strconv.Atoi(port)
	if n == 0 {
		n = server.RANDOM_PORT
	}
	return host, n, err
}

// logger gives the server's words to ours. What it says all the time is for those who
// look for something.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("server", "text", fmt.Sprintf(format, v...))
}

func (l logger) Debugf(format string, v ...any) {
	l.log.Debug("server", "text", fmt.Sprintf(format, v...))
}
func (l logger) Tracef(string, ...any) {}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("server", "text", fmt.Sprintf(format, v...))
}

func (l logger) Errorf(format string, v ...any) {
	l.log.Error("server", "text", fmt.Sprintf(format, v...))
}

func (l logger) Fatalf(format string, v ...any) {
	l.log.Error("server", "text", fmt.Sprintf(format, v...))
}
