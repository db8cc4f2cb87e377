// Package systemd holds the units that `resumed install` writes.
package systemd

import _ "embed"

// User is the unit for the user's service manager.
//
//go:embed resumed.service
var User string

// NotifyReload is the drop-in for systemd 253 and newer.
//
//go:embed notify-reload.conf
var NotifyReload string

// System is the template unit for the system's service manager: one instance per user.
//
//go:embed resumed@.service
var System string
