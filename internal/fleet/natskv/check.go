package natskv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
)

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
	ErrNobodyThere    = errors.New("nobody answers there")
	ErrNotTheirs      = errors.New("its certificate is not signed by who is believed")
	ErrOtherName      = errors.New("its certificate is of another name")
	ErrUnknownHost    = errors.New("it does not know this machine's key")
	ErrTooOld         = errors.New("the server is too old")
	ErrNothingIsThere = errors.New("it keeps nothing for a fleet yet")
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
	js, err := jetstream.New(nc)
	if err != nil {
		return h, err
	}
	s := &Store{nc: nc, js: js}
	asked := time.Now()
	now, err := s.Now(ctx)
	h.Took = time.Since(asked)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return h, ErrNothingIsThere
	}
	if err != nil {
		return h, err
	}
	h.Skew = time.Until(now).Round(time.Millisecond)
	h.Off, h.Alone = h.Skew.Abs() > fleet.ShownSkew, h.Skew.Abs() > fleet.LargestSkew
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
		return ErrNotTheirs
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
