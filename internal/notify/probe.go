package notify

import (
	"context"
	"fmt"

	"resumed/internal/sessionbus"
)

// DesktopServer returns the name of the program that shows notices on the user's
// desktop, or why there is none.
func DesktopServer(ctx context.Context) (string, error) {
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var name, vendor, version, spec string
	call := conn.Object(notifications, notificationsPath).CallWithContext(ctx, notifications+".GetServerInformation", 0)
	if err := call.Store(&name, &vendor, &version, &spec); err != nil {
		return "", fmt.Errorf("ask for the notification server: %w", err)
	}
	return name + " " + version, nil
}
