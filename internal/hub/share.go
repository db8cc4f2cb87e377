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

// Bounds of what one host may store, in entries. The server bounds only whole streams, which one host
// could fill alone.
const (
	mostViews   = 3000 // sessions that other hosts are shown
	mostRecords = 500  // of each kind: accounts with owner records, leases of sessions, leases of probes
	mostNotices = 50
	betweenCuts = 100 // writes of a host between two cuts
)

// sweeps is how often it is checked that nothing is stored for longer than it may be.
const sweeps = 10 * time.Minute

// boundHosts removes the oldest entries of each host that has too many, and those that would not expire,
// until ctx is done, and reports how many it removed. It returns once it does that.
func boundHosts(ctx context.Context, nc *nats.Conn, dir string, report func(host string, cut int, err error)) error {
	cut := func(host string) {
		if n, err := cutHost(nc, host, true); n > 0 || err != nil {
			report(host, n, err)
		}
	}
	written, missed := make(map[string]int), 0
	sub, err := nc.Subscribe("resumed.v1.*.>", func(msg *nats.Msg) {
		host := natskv.WriterOf(msg.Subject)
		if host == "" {
			return
		}
		all, _ := msg.Sub.Dropped()
		written[host] += 1 + all - missed // a flood is missed, and most of it is of the host that is met next
		if missed = all; written[host] < betweenCuts {
			return
		}
		delete(written, host)
		cut(host)
	})
	if err == nil {
		err = sub.SetPendingLimits(5*betweenCuts, 32<<20)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		return fmt.Errorf("watch the writes of hosts: %w", err)
	}
	go func() {
		for again := time.NewTicker(sweeps); ; {
			for _, h := range allHosts(dir) { // a stream that is full refuses all writes, and nothing is told of them
				cut(h.Name)
			}
			if err := sweep(nc, time.Now()); err != nil && ctx.Err() == nil {
				report("", 0, err)
			}
			select {
			case <-ctx.Done():
				again.Stop()
				return
			case <-again.C:
			}
		}
	}()
	return nil
}

// cutHost removes all but the newest entries of a host, or all, and returns how many it removed.
func cutHost(nc *nats.Conn, host string, keep bool) (cut int, err error) {
	for _, o := range ownedBy(host) {
		request := map[string]any{"filter": o.subjects}
		if keep {
			request["keep"] = o.most
		}
		n, err := purge(nc, o.stream, request)
		if err != nil {
			return cut, fmt.Errorf("cut what %s has stored: %w", host, err)
		}
		cut += n
	}
	return cut, nil
}

// sweep removes what is older than anything in its stream may be. A host can ask the server to store an
// entry without end.
func sweep(nc *nats.Conn, now time.Time) error {
	for _, b := range buckets {
		stream := natskv.StreamOf(b)
		next := map[string]any{"seq": 1, "next_by_subj": natskv.SubjectOf(b, ">")}
		for {
			var found struct {
				Error   *struct{ Description string }
				Message struct {
					Seq  uint64    `json:"seq"`
					Time time.Time `json:"time"`
				}
			}
			if err := call(nc, "$JS.API.STREAM.MSG.GET."+stream, next, &found); err != nil {
				return fmt.Errorf("look for what does not expire in %s: %w", stream, err)
			}
			if found.Error != nil || now.Sub(found.Message.Time) <= fleet.TTL[b] { // there is no older one
				break
			}
			next["seq"] = found.Message.Seq + 1
		}
		if next["seq"] == 1 {
			continue
		}
		if _, err := purge(nc, stream, map[string]any{"seq": next["seq"]}); err != nil {
			return fmt.Errorf("remove what does not expire in %s: %w", stream, err)
		}
	}
	return nil
}

func purge(nc *nats.Conn, stream string, request map[string]any) (purged int, err error) {
	var said struct {
		Purged int `json:"purged"`
	}
	err = call(nc, "$JS.API.STREAM.PURGE."+stream, request, &said)
	return said.Purged, err
}

func call(nc *nats.Conn, subject string, request map[string]any, said any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	msg, err := nc.Request(subject, text, 10*time.Second)
	if err != nil {
		return err
	}
	return json.Unmarshal(msg.Data, said)
}
