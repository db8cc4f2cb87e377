package natskv

import (
	"cmp"
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

	"resumed/internal/regular"
)

// Options say where a fleet is, and who asks.
type Options struct {
	URL         string // of one or several servers, with commas
	Credentials Credentials
	CAFile      string // "": the system's authorities
	Host        string // the name of this host in the fleet
	Log         *slog.Logger
	Within      time.Duration        // the longest pause between two tries to reach a server; 0: longestPause
	Changed     func(connected bool) // is told when the connection is there, or lost; may be nil
	Refused     func(error)          // is told what the server says of what it does not do; may be nil
}

// longestPause is the default of Within. Hosts that lost a server at the same moment come back
// one by one in that time.
const longestPause = 30 * time.Second

// Open begins to connect and returns at once: a server that is down is tried for ever.
func Open(o Options) (*Store, error) {
	var lost atomic.Pointer[nats.Conn]
	said := "" // the last refusal: tries come one after the other, and for ever
	nc, err := o.Dial(
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(func(attempts int) time.Duration {
			if nc := lost.Load(); nc != nil {
				said = o.letIn(nc.LastError(), said)
			}
			return pauseAfter(attempts, cmp.Or(o.Within, longestPause), rand.Float64())
		}),
		nats.ReconnectBufSize(-1), // what cannot be sent now is refused now
		nats.PingInterval(10*time.Second), nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(func(*nats.Conn) { o.tell(true) }),
		nats.ReconnectHandler(func(*nats.Conn) { o.tell(true) }),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { o.tell(false) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if o.Refused != nil && !errors.Is(err, nats.ErrAuthorization) { // letIn tells of that
				o.Refused(err)
			}
		}),
	)
	if err != nil {
		return nil, err
	}
	lost.Store(nc)
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &Store{nc: nc, js: js, host: o.Host}, nil
}

// connectionName is what the connection of a host is called, before the name of the host.
const connectionName = "resumed "

// HostOf returns which host a connection of that name says it is of.
func HostOf(connection string) string { return strings.TrimPrefix(connection, connectionName) }

// Dial connects as the host.
func (o Options) Dial(more ...nats.Option) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(connectionName + o.Host), nats.CustomInboxPrefix(inbox(o.Host)), nats.Nkey(o.Credentials.public, o.Credentials.sign)}
	if o.Credentials.jwt != "" {
		options = append(options, nats.UserJWT(func() (string, error) { return o.Credentials.jwt, nil }, o.Credentials.sign))
	}
	secure, err := authorities(o.CAFile)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(o.URL, append(append(options, secure...), more...)...)
	if err != nil {
		return nil, fmt.Errorf("reach the fleet at %s: %w", o.URL, err)
	}
	return nc, nil
}

// letIn asks to be let in where the server does not know this host: it was joined while
// there was no hub, or the hub was made anew. It logs a refusal that was not said before, and
// returns it.
func (o Options) letIn(err error, said string) string {
	if !errors.Is(err, nats.ErrAuthorization) {
		return said
	}
	err = ErrUnknownHost
	if o.Credentials.Invitation != nil {
		err = Register(context.Background(), o)
	}
	if err == nil {
		return ""
	}
	text := meant(err).Error()
	if text != said && o.Log != nil {
		o.Log.Warn("the fleet's hub does not let this host in", "err", text)
	}
	return text
}

func (o Options) tell(connected bool) {
	if o.Changed != nil {
		o.Changed(connected)
	}
}

// pauseAfter returns how long to wait before the next try: longer each time, and by chance.
func pauseAfter(attempts int, longest time.Duration, u float64) time.Duration {
	most := min(longest, time.Second<<min(attempts, 5))
	return time.Duration((0.1 + 0.9*u) * float64(most))
}

// authorities returns whose certificates are believed.
func authorities(file string) ([]nats.Option, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := regular.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read ca_file: %s holds no certificate", file)
	}
	return []nats.Option{nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})}, nil
}

// Connected reports whether there is a server now.
func (s *Store) Connected() bool { return s.nc.IsConnected() }

// LastError returns why there is none, as far as is known.
func (s *Store) LastError() error {
	if err := s.nc.LastError(); err != nil {
		return meant(err)
	}
	return nil
}

// Close ends the connection.
func (s *Store) Close() { s.nc.Close() }

// InProcess connects to a server of the same process, with no bound to what it may do there
// but that server's.
func InProcess(server nats.InProcessConnProvider, c Credentials) (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(server), nats.Nkey(c.public, c.sign), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second))
}
