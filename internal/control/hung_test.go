package control_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// hears returns a client of a daemon that sends this and then nothing until the client is gone;
// then ended is closed.
func hears(t *testing.T, said ...string) (client *control.Client, ended chan struct{}) {
	return hearsEvery(t, time.Hour, said...)
}

// hearsEvery is hears, with that pause between the parts.
func hearsEvery(t *testing.T, pause time.Duration, said ...string) (client *control.Client, ended chan struct{}) {
	here, there := net.Pipe()
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		question := bufio.NewReader(there)
		if _, err := http.ReadRequest(question); err != nil {
			t.Error(err)
		}
		for _, part := range said {
			_, _ = io.WriteString(there, part)
			time.Sleep(pause)
		}
		_, _ = io.Copy(io.Discard, question)
		_ = there.Close()
	}()
	return control.NewClientOf(here), ended
}

// A client of a daemon that hangs gets an error in time, wherever the answer stopped.
func TestAHungDaemonIsNotWaitedForForEver(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
	for name, c := range map[string]struct {
		said  string
		ask   func(context.Context, *control.Client) error
		limit time.Duration
	}{
		"before its answer": {"", func(ctx context.Context, c *control.Client) error { _, err := c.Status(ctx, false); return err }, 20 * time.Second},
		"in its answer":     {head + `{"version"`, func(ctx context.Context, c *control.Client) error { _, err := c.Status(ctx, false); return err }, 20 * time.Second},
		"before an order":   {"", func(ctx context.Context, c *control.Client) error { return c.SetPaused(ctx, true) }, 45 * time.Second},
		"before a stream": {"", func(ctx context.Context, c *control.Client) error {
			return c.Watch(ctx, false, func(control.Update) error { return nil })
		}, 20 * time.Second},
		"in its history": {head + `{"version":1}` + "\n", func(ctx context.Context, c *control.Client) error {
			steps, err := c.History(ctx, "", time.Time{})
			for _, e := range steps {
				err = errors.Join(err, e)
			}
			return err
		}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, ended := hears(t, c.said)
				began := time.Now()
				require.ErrorIs(t, c.ask(t.Context(), client), control.ErrHung)
				require.Equal(t, c.limit, time.Since(began))
				<-ended
			})
		})
	}
}

// A stream on which nothing changes shows that the daemon lives. Without that, the daemon hangs.
func TestAQuietStreamIsNoHungDaemon(t *testing.T) {
	const update = "{\"version\":1}\n"
	for name, c := range map[string]struct {
		said []string
		want error
	}{
		"it is quiet": {[]string{"HTTP/1.1 200 OK\r\n\r\n" + update, "\n", "\n", "\n", update}, nil},
		"it hangs":    {[]string{"HTTP/1.1 200 OK\r\n\r\n" + update, "\n"}, control.ErrHung},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, ended := hearsEvery(t, control.BeatEvery, c.said...)
				seen, began := 0, time.Now()
				enough := errors.New("enough")
				err := client.Watch(t.Context(), false, func(control.Update) error {
					if seen++; seen == 2 {
						return enough
					}
					return nil
				})
				require.ErrorIs(t, err, cmp.Or(c.want, enough))
				require.LessOrEqual(t, time.Since(began), 4*control.BeatEvery)
				<-ended
			})
		})
	}
}
