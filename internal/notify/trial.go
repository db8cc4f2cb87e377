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
	notice = ch.Word(notice)
	began := time.Now()
	answer, err := ch.Send(ctx, notice)
	return Result{Channel: ch.Name(), To: ch.To(), Sent: notice.Title, Answer: answer, Took: time.Since(began), Err: err}
}
