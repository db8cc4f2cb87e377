package notify

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// Result is what became of a test notice on one channel.
type Result struct {
	Channel string        // its name
	To      string        // where it leads, without secrets
	Sent    string        // the title that was sent
	Answer  string        // what came back; empty where the channel says nothing
	Took    time.Duration // until then
	Err     error         // nil: it was taken
}

// reporter is a channel that can say what the other side answered.
type reporter interface {
	To() string
	worded(Notice) Notice
	report(context.Context, Notice) (answer string, err error)
}

// Try sends a test notice by each channel at once, or by the one of that name,
// past the outbox, and waits for the answers. It is an error to name a channel
// that is not there.
func Try(ctx context.Context, channels []Channel, name, host string) ([]Result, error) {
	var chosen []Channel
	for _, ch := range channels {
		if name == "" || ch.Name() == name {
			chosen = append(chosen, ch)
		}
	}
	if name != "" && len(chosen) == 0 {
		return nil, fmt.Errorf("no channel is named %q", name)
	}
	now := time.Now().UTC().Round(0)
	notice := compose(&group{ID: "ntc_" + rand.Text(), Event: Test, At: now}, host, time.Local, nil)
	results := make([]Result, len(chosen))
	var all sync.WaitGroup
	for i, ch := range chosen {
		all.Go(func() { results[i] = try(ctx, ch, notice) })
	}
	all.Wait()
	return results, nil
}

func try(ctx context.Context, ch Channel, notice Notice) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, sendLimit, fmt.Errorf("not done within %s", sendLimit))
	defer cancel()
	r := Result{Channel: ch.Name(), Sent: notice.Title}
	began := time.Now()
	if rep, ok := ch.(reporter); ok {
		r.To, r.Sent = rep.To(), rep.worded(notice).Title
		r.Answer, r.Err = rep.report(ctx, notice)
	} else {
		r.Err = ch.Send(ctx, notice)
	}
	r.Took = time.Since(began)
	return r
}

// Test sends a test notice by the channels in force; see Try.
func (n *Notifier) Test(ctx context.Context, name string) ([]Result, error) {
	n.mu.Lock()
	channels := n.config.Channels
	n.mu.Unlock()
	return Try(ctx, channels, name, n.opts.Host)
}
