// Package sdnotify reports the state of the daemon to systemd. Without systemd it does nothing;
// a message that cannot be sent is dropped.
package sdnotify

import (
	"context"
	"fmt"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

func send(message string) { _, _ = sd.SdNotify(false, message) }

// Ready reports that the daemon has started.
func Ready(status string) { send(sd.SdNotifyReady + "\nSTATUS=" + status) }

// Reloading must be followed by Reloaded, or systemd waits forever.
func Reloading() { send(sd.SdNotifyReloading + "\n" + sd.SdNotifyMonotonicUsec()) }

// Reloaded reports that a reload has ended.
func Reloaded() { send(sd.SdNotifyReady) }

// Stopping reports that the daemon stops.
func Stopping() { send(sd.SdNotifyStopping + "\nSTATUS=stopping") }

// FeedWatchdog notifies systemd as long as ping succeeds, until ctx is done: systemd restarts the
// daemon if the engine hangs.
func FeedWatchdog(ctx context.Context, ping func(context.Context) error) error {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read watchdog interval: %w", err)
	}
	if interval == 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(interval / 3)
	defer ticker.Stop()
	for {
		if err := ping(ctx); err == nil {
			send(sd.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
