package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// Bounds of what one host may store, in keys of at most fleet.LargestValue bytes. The server bounds
// only whole streams, which one host could fill alone.
const (
	mostViews   = 3000 // sessions that other hosts are shown
	mostRecords = 500  // leases and owner records
	betweenCuts = 500  // writes of a host between two cuts
)

// boundHosts removes the oldest keys of each host that has too many, until the connection is closed,
// and reports how many it removed.
func boundHosts(nc *nats.Conn, report func(host string, cut int, err error)) error {
	written := make(map[string]int)
	sub, err := nc.Subscribe("resumed.v1.*.>", func(msg *nats.Msg) {
		host := natskv.WriterOf(msg.Subject)
		if written[host]++; host == "" || written[host] < betweenCuts {
			return
		}
		delete(written, host)
		if n, err := cutHost(nc, host, mostViews, mostRecords); n > 0 || err != nil {
			report(host, n, err)
		}
	})
	if err != nil {
		return fmt.Errorf("watch the writes of hosts: %w", err)
	}
	return sub.SetPendingLimits(2*betweenCuts, 32<<20) // missed writes are not counted
}

// cutHost removes all but the newest keys of a host, and returns how many it removed.
func cutHost(nc *nats.Conn, host string, views, records int) (cut int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for b, patterns := range ownKeys(host) {
		keep := records
		if b == fleet.View {
			keep = views
		}
		for _, pattern := range patterns {
			request := fmt.Sprintf(`{"filter":%q,"keep":%d}`, natskv.SubjectOf(b, pattern), keep)
			msg, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+natskv.StreamOf(b), []byte(request))
			if err != nil {
				return cut, fmt.Errorf("cut what %s has stored: %w", host, err)
			}
			var said struct {
				Purged int `json:"purged"`
			}
			if err := json.Unmarshal(msg.Data, &said); err != nil {
				return cut, fmt.Errorf("cut what %s has stored: %w", host, err)
			}
			cut += said.Purged
		}
	}
	return cut, nil
}
