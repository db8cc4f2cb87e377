package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/config"
	"resumed/internal/notify/desktop"
	"resumed/internal/program"
	"resumed/internal/terminal"
	"resumed/internal/terminal/gnuscreen"
	"resumed/internal/terminal/kitty"
)

func examineTmux(ctx context.Context, r *Report) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		r.OK("tmux", "not found, and not needed: start your agents with `resumed shell`")
		return
	}
	r.OK("tmux", program.Version(ctx, nil, path, "-V"))
}

// examineTerminals reports whether resumed can type into an agent in this terminal, if it is one
// that may refuse.
func examineTerminals(ctx context.Context, r *Report) {
	examineWindow(ctx, r, "screen", "GNU screen", "screen --version must say 4.01 or newer", gnuscreen.Look)
	examineWindow(ctx, r, "kitty", "kitty", kitty.Hint+", then restart kitty", kitty.Look)
}

func examineWindow(ctx context.Context, r *Report, name, title, helps string, look terminal.Look) {
	window, err := look(os.Environ())
	if window == nil && err == nil {
		return // it is another terminal
	}
	if err == nil {
		_, err = window.Facts(ctx)
	}
	if err != nil {
		r.Warn(name, "resumed cannot type into an agent in this "+title+": "+err.Error(), helps)
		return
	}
	r.OK(name, "remote control works here")
}

func examineDesktop(ctx context.Context, r *Report, cfg config.Config) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, errors.New("the desktop session does not answer"))
	defer cancel()
	name, err := desktop.Server(ctx)
	switch {
	case err == nil:
		r.OK("desktop", name+" shows notices")
	case len(cfg.Notify.Desktop) == 0:
		r.OK("desktop", "not used")
	default:
		add := "[[notify.service]] in the file that resumed config init writes"
		if len(cfg.Notify.Service) > 0 {
			add = "resumed notify test"
		}
		r.Warn("desktop", "a notice cannot be shown now: "+err.Error()+"; it waits a day for that", "add a channel that reaches you elsewhere, such as your phone: "+add)
	}
}

// examineClock checks the clock and zone, with which all named times are compared.
func examineClock(r *Report, now time.Time) {
	if zone := os.Getenv("TZ"); zone != "" && !filepath.IsAbs(strings.TrimPrefix(zone, ":")) {
		if _, err := time.LoadLocation(strings.TrimPrefix(zone, ":")); err != nil {
			r.Fail("zone", fmt.Sprintf("TZ=%s is not a time zone: clock times are read as UTC", zone), "unset TZ, or set it to one such as Europe/Berlin")
		}
	}
	text := now.Format("Mon 2 Jan 2006 15:04:05 MST (-07:00)")
	switch synchronised, known := clockSynchronised(); {
	case now.Year() < 2025:
		r.Fail("clock", text+" is in the past", "timedatectl set-ntp true")
	case known && !synchronised:
		r.Warn("clock", text+", not synchronised", "timedatectl set-ntp true")
	default:
		r.OK("clock", text)
	}
}
