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

// Health is how a server of a fleet is seen from a host.
type Health struct {
	Version string        // of the server
	Took    time.Duration // an answer
	Skew    time.Duration // by which its clock is ahead
	Off     bool          // that is so much that people should know
	Alone   bool          // and so much that the host is alone
	Hosts   []fleet.Host
}

// What stands in the way of a host.
var (
	ErrNobodyThere    = errors.New("nobody answers there")
	ErrNotTheirs      = errors.New("its certificate is not signed by who is believed")
	ErrOtherName      = errors.New("its certificate is of another name")
	ErrUnknownHost    = errors.New("it does not know this machine's key")
	ErrTooOld         = errors.New("the server is too old")
	ErrNothingIsThere = errors.New("it keeps nothing for a fleet yet")
)

// oldest is the first version of the server whose keys end by themselves and are told of.
var oldest = [2]int{2, 11}

// Check looks at one server as the host would: reaches it, is let in, and asks.
func Check(ctx context.Context, o Options) (Health, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	nc, err := o.Dial(nats.NoReconnect(), nats.Timeout(fleet.AnswerWithin))
	if err != nil {
		return Health{}, meant(err)
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

// meant says what an error means for who set the fleet up.
func meant(err error) error {
	why := err
	_, other := errors.AsType[x509.HostnameError](err)
	_, refused := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case other:
		why = ErrOtherName
	case refused:
		why = ErrNotTheirs
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		why = ErrUnknownHost
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		why = ErrNobodyThere
	}
	return why
}

func older(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major < oldest[0] || major == oldest[0] && minor < oldest[1])
}
