package natskv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
	"resumed/internal/regular"
)

// Options are the fleet to connect to, and the host that connects.
type Options struct {
	URL         string // of one or several servers, with commas
	Credentials Credentials
	CAFile      string // "": the system's authorities
	Host        string // the name of this host in the fleet

	// Only for Open.
	Log     *slog.Logger
	Within  time.Duration // the longest pause between two tries to reach a server: hosts that lost it at the same moment reconnect spread over that time
	Changed func()        // the connection was made, or lost
	Refused func(error)   // the server has refused something
}

// Open starts to connect and returns at once: a server that is down is tried until Close.
func Open(o Options) (*Store, error) {
	changed := func(*nats.Conn) { o.Changed() }
	var opened atomic.Pointer[nats.Conn]
	logged := "" // the last refusal: the same one would be logged again with every try
	nc, err := o.Dial(
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(func(attempts int) time.Duration {
			if nc := opened.Load(); nc != nil {
				logged = o.register(nc.LastError(), logged)
			}
			return pauseAfter(attempts, o.Within, rand.Float64())
		}),
		nats.ReconnectBufSize(-1), // a message that cannot be sent now is refused now
		nats.PingInterval(10*time.Second), nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(changed), nats.ReconnectHandler(changed),
		nats.DisconnectErrHandler(func(nc *nats.Conn, _ error) { changed(nc) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrAuthorization) { // register reports that
				o.Refused(err)
			}
		}),
	)
	if err != nil {
		return nil, err
	}
	opened.Store(nc)
	return newStore(nc, o.Host), nil
}

// connectionName precedes the name of the host in the name of its connection.
const connectionName = "resumed "

// HostOf returns the host that a connection with that name claims to be.
func HostOf(connection string) string { return strings.TrimPrefix(connection, connectionName) }

// Dial connects as this host.
func (o Options) Dial(more ...nats.Option) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(connectionName + o.Host), nats.CustomInboxPrefix(Inbox(o.Host)), nats.Nkey(o.Credentials.Public(), o.Credentials.pair.Sign)}
	if o.CAFile != "" {
		secure, err := trust(o.CAFile)
		if err != nil {
			return nil, err
		}
		options = append(options, secure)
	}
	nc, err := nats.Connect(o.URL, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("reach the fleet at %s: %w", o.URL, err)
	}
	return nc, nil
}

// register asks the hub to admit this host if the server does not know it: the host joined while there
// was no hub, or the hub was set up again. It logs a refusal unless it was logged before, and returns
// it.
func (o Options) register(err error, logged string) string {
	if !errors.Is(err, nats.ErrAuthorization) {
		return logged
	}
	err = ErrUnknownHost
	if o.Credentials.Invitation != nil {
		err = Register(context.Background(), o)
	}
	if err == nil {
		return ""
	}
	text := reasonOf(err).Error()
	if text != logged {
		o.Log.Warn("the fleet's hub does not let this host in", "err", text)
	}
	return text
}

func pauseAfter(attempts int, longest time.Duration, u float64) time.Duration {
	most := min(longest, time.Second<<min(attempts, 5))
	return time.Duration((0.1 + 0.9*u) * float64(most))
}

func trust(file string) (nats.Option, error) {
	pem, err := regular.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read ca_file: %s holds no certificate", file)
	}
	return nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), nil
}

// Connected reports whether a server is connected now.
func (s *Store) Connected() bool { return s.nc.IsConnected() }

// LastError returns why no server is connected, as far as known.
func (s *Store) LastError() error { return reasonOf(s.nc.LastError()) }

// Close ends the connection.
func (s *Store) Close() { s.nc.Close() }

// Quiet makes a connection print no errors of its own, such as a flood that it reads too slowly.
func Quiet() nats.Option {
	return nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
}

// InProcess connects to a server of the same process.
func InProcess(server nats.InProcessConnProvider, c Credentials) (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(server), nats.Nkey(c.Public(), c.pair.Sign), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), Quiet())
}

// Health is the state of a fleet's server, as a host sees it.
type Health struct {
	Version string        // of the server
	Took    time.Duration // the time of an answer
	Skew    time.Duration // by which its clock is ahead
	Off     bool          // the skew is so large that it is reported
	Alone   bool          // the skew is so large that this host cannot take part
	Hosts   []fleet.Host
}

// The reasons why a host cannot use a server.
var (
	ErrNobodyThere = errors.New("no server answers at this address")
	ErrUntrusted   = errors.New("its certificate is not signed by a trusted authority")
	ErrOtherName   = errors.New("its certificate is of another name")
	ErrUnknownHost = errors.New("it does not know this machine's key")
	ErrTooOld      = errors.New("the server is too old")
	ErrNoFleetData = errors.New("it has no data of a fleet yet")
	ErrRollup      = errors.New("its streams allow rollup: any machine of the fleet can empty them")
)

// oldest is the first version of the server that has keys which expire with a marker.
var oldest = [2]int{2, 11}

// Check connects to one server as the host would, and reads from it.
func Check(ctx context.Context, o Options) (Health, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	nc, err := o.Dial(nats.NoReconnect(), nats.Timeout(fleet.AnswerWithin))
	if err != nil {
		return Health{}, reasonOf(err)
	}
	defer nc.Close()
	h := Health{Version: nc.ConnectedServerVersion()}
	if older(h.Version) {
		return h, fmt.Errorf("%w: it is NATS %s, and %d.%d is needed", ErrTooOld, h.Version, oldest[0], oldest[1])
	}
	s := newStore(nc, o.Host)
	asked := time.Now()
	now, err := s.Now(ctx)
	h.Took = time.Since(asked)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return h, ErrNoFleetData
	}
	if err != nil {
		return h, err
	}
	h.Skew = time.Until(now).Round(time.Millisecond)
	h.Off, h.Alone = h.Skew.Abs() > fleet.ShownSkew, h.Skew.Abs() > fleet.LargestSkew
	for _, b := range []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View} {
		stream, err := s.js.Stream(ctx, StreamOf(b))
		if err != nil {
			return h, err
		}
		if stream.CachedInfo().Config.AllowRollup {
			return h, ErrRollup
		}
	}
	entries, err := s.List(ctx, fleet.Leases, fleet.HostKey(""))
	for _, e := range entries {
		var host fleet.Host
		if fleet.Decode(e.Value, &host) == nil {
			h.Hosts = append(h.Hosts, host)
		}
	}
	return h, err
}

// reasonOf maps an error to one of the reasons above, or returns it.
func reasonOf(err error) error {
	_, other := errors.AsType[x509.HostnameError](err)
	_, refused := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case other:
		return ErrOtherName
	case refused:
		return ErrUntrusted
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return ErrUnknownHost
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return ErrNobodyThere
	}
	return err
}

func older(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major < oldest[0] || major == oldest[0] && minor < oldest[1])
}
