package hub

import (
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// A machine that writes without pause would make all others wait for the hub's disk. None needs a tenth of
// this: what other machines are shown of sessions is not counted.
const (
	mostWrites  = 3000
	rateWindow  = 10 * time.Second
	expelledFor = time.Minute
)

// limitRates disconnects machines that write too much at once, until the connection is closed.
func (h *hosts) limitRates(nc *nats.Conn) error {
	for _, subject := range []string{natskv.SubjectOf(fleet.Accounts, ">"), natskv.SubjectOf(fleet.Leases, ">"), natskv.NoticeSubject + ">"} {
		sent, missed, from := make(map[string]int), 0, time.Now()
		sub, err := nc.Subscribe(subject, func(msg *nats.Msg) {
			if now := time.Now(); now.Sub(from) >= rateWindow {
				from = now
				clear(sent)
			}
			host := natskv.SenderOf(msg.Subject)
			all, _ := msg.Sub.Dropped()
			sent[host] += 1 + all - missed
			if missed = all; sent[host] >= mostWrites {
				delete(sent, host)
				h.expel(host)
			}
		})
		if err == nil {
			err = sub.SetPendingLimits(mostWrites, 32<<20)
		}
		if err != nil {
			return fmt.Errorf("watch how much machines write: %w", err)
		}
	}
	return nil
}

// expel disconnects a machine, and does not let it in for a while.
func (h *hosts) expel(name string) {
	h.mu.Lock()
	expelled := time.Now().Before(h.expelled[name])
	h.expelled[name] = time.Now().Add(expelledFor)
	h.mu.Unlock()
	if !expelled {
		h.log.Warn("a machine writes without pause: it is not let in for a minute; `hub remove` removes it", "host", name)
	}
	open, err := h.ns.Connz(&server.ConnzOptions{Account: accountOf(name), Limit: 1000})
	if err != nil {
		h.log.Error("cannot see who is connected: restart the hub", "err", err)
		return
	}
	for _, c := range open.Conns {
		_ = h.ns.DisconnectClientByID(c.Cid) // it may have disconnected already
	}
}

func (h *hosts) isExpelled(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.expelled[name])
}
