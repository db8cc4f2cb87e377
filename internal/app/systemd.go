package app

import (
	"context"
	"fmt"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// serviceManager tells systemd how the daemon is. Where there is none it
// does nothing: that is no error, and one that is gone cannot be helped.
type serviceManager struct{}

func (serviceManager) ready(status string) {
	_, _ = sd.SdNotify(false, sd.SdNotifyReady+"\nSTATUS="+status)
}

// reloaded ends what reloading began.
func (serviceManager) reloaded() { _, _ = sd.SdNotify(false, sd.SdNotifyReady) }

// reloading must be followed by reloaded, or the manager waits for ever.
func (serviceManager) reloading() {
	_, _ = sd.SdNotify(false, sd.SdNotifyReloading+"\n"+sd.SdNotifyMonotonicUsec())
}

func (serviceManager) stopping() {
	_, _ = sd.SdNotify(false, sd.SdNotifyStopping+"\nSTATUS=stopping")
}

func (serviceManager) status(text string) {
	_, _ = sd.SdNotify(false, "STATUS="+text)
}

// feedWatchdog proves to the service manager that the engine's loop turns. A
// loop that hangs gets no food, and the manager restarts the daemon.
func feedWatchdog(ctx context.Context, ping func(context.Context) error) error {
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
			_, _ = sd.SdNotify(false, sd.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
