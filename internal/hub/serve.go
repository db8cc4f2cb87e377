package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"resumed/internal/fleet/natskv"
	"resumed/internal/plain"
)

// Options configure a hub.
type Options struct {
	Dir   string
	Log   *slog.Logger
	Ready func(address string) // called when hosts can connect

	// Set by tests, to form a cluster of several servers.
	adjust  func(*server.Options)
	prepare func(context.Context, *nats.Conn) error // default: makeStreams

	unlimited bool // set by tests: machines may write without pause
}

// Settings of the hub's own server and of a stock one.
const (
	serverName     = "resumed-hub"
	largestMessage = 256 << 10
	tlsTimeout     = 10 // seconds
	authTimeout    = 15 // seconds
)

// startLimit is how long a server may take to load its data, answerLimit how long it may take to answer
// after that.
const (
	startLimit  = time.Minute
	answerLimit = 20 * time.Second
)

// Serve runs the hub until ctx is done. A stream that cannot be read is created again: machines will
// write all of its content again.
func Serve(ctx context.Context, o Options) error {
	s, err := read(o.Dir)
	if err != nil {
		return err
	}
	for aside := ""; ; {
		err := o.serve(ctx, s)
		damaged, ok := errors.AsType[*streamError](err)
		if !ok || ctx.Err() != nil || o.prepare != nil || damaged.Stream == aside {
			return err
		}
		aside = damaged.Stream
		kept, err := setAside(o.Dir, aside)
		if err != nil {
			return errors.Join(damaged, err)
		}
		o.Log.Warn("a stream of the hub cannot be read, and is made anew", "stream", aside, "err", damaged.Err, "old", kept)
	}
}

// setAside moves the files of a stream to another directory, and returns their path.
func setAside(dir, stream string) (string, error) {
	old := filepath.Join(dir, damagedDir, stream)
	if err := os.RemoveAll(old); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		return "", err
	}
	return old, os.Rename(filepath.Join(dir, dataDir, "jetstream", "$G", "streams", stream), old)
}

func (o Options) serve(ctx context.Context, s settings) error {
	self, err := natskv.NewCredentials()
	if err != nil {
		return err
	}
	known := &hosts{dir: o.Dir, hub: self.Public(), log: o.Log, expelled: make(map[string]time.Time)}
	options, err := o.server(s, known)
	if err != nil {
		return err
	}
	free, err := net.Listen("tcp", s.Listen) // the server would only log that, and be waited for
	if err != nil {
		return fmt.Errorf("the hub cannot serve: %s: stop the other program, which may be a hub, or make a hub with another --listen", plain.Text(err))
	}
	_ = free.Close()
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
		return fmt.Errorf("the hub cannot listen on %s: its log says more", s.Listen)
	}
	nc, err := natskv.InProcess(ns, self)
	if err != nil {
		return fmt.Errorf("reach the hub's own server: %w", err)
	}
	defer nc.Close()
	prepare := makeStreams
	if o.prepare != nil {
		prepare = o.prepare
	}
	if err := prepare(ctx, nc); err != nil {
		return err
	}
	if err := known.receive(nc); err != nil {
		return err
	}
	if err := boundHosts(ctx, nc, o.Dir, o.cut); err != nil {
		return err
	}
	if !o.unlimited {
		if err := known.limitRates(nc); err != nil {
			return err
		}
	}
	return known.keepOut(ctx, nc, func() { o.Ready(ns.Addr().String()) })
}

// cut logs what was removed of a machine.
func (o Options) cut(host string, removed int, err error) {
	if err != nil {
		o.Log.Error("what machines may store is not bounded now", "host", host, "removed", removed, "err", err)
		return
	}
	o.Log.Warn("a machine has stored more than it may: the oldest of that is removed", "host", host, "removed", removed)
}

func (o Options) server(s settings, known *hosts) (*server.Options, error) {
	host, port, err := hostPort(s.Listen)
	if err != nil {
		return nil, err
	}
	certificate, err := s.certificate(o.Dir)
	if err != nil {
		return nil, err
	}
	options := &server.Options{
		ServerName: serverName, Host: host, Port: port, NoSigs: true, MaxPayload: largestMessage,
		JetStream: true, StoreDir: filepath.Join(o.Dir, dataDir), SyncAlways: true, DisableJetStreamBanner: true,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}}, TLS: true, TLSTimeout: tlsTimeout, AuthTimeout: authTimeout,
		CustomClientAuthentication: known, AlwaysEnableNonce: true,
	}
	if o.adjust != nil {
		o.adjust(options)
	}
	return options, nil
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

// logger writes the server's log to ours. Its frequent messages have the level debug.
type logger struct{ log *slog.Logger }

func (l logger) Tracef(string, ...any)           {}
func (l logger) Debugf(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }
func (l logger) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l logger) Warnf(format string, v ...any)   { l.write(slog.LevelWarn, format, v) }
func (l logger) Errorf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l logger) Fatalf(format string, v ...any)  { l.write(slog.LevelError, format, v) }

func (l logger) write(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "server", "text", fmt.Sprintf(format, v...))
}
