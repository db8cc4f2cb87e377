package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/config"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/notify/desktop"
	"resumed/internal/ownership"
	"resumed/internal/program"
	"resumed/internal/state"
)

// Stored describes one kind of stored data: where it is, its size, and its limit.
type Stored struct {
	What  string `json:"what"` // sessions | cursors | history | notices | outputs | copies | leases
	Path  string `json:"path"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	Bound string `json:"bound"` // in words
}

// examineStored reports what the daemon stores, and its size.
func examineStored(ctx context.Context, r *Report, cfg config.Config) {
	stateDir, err := dirs.State(os.Getenv)
	if err != nil {
		return // reported already
	}
	r.Stored = slices.Concat([]Stored{}, storedInDatabase(ctx, r, stateDir, cfg.History), storedInFiles(stateDir, cfg.History))
	for _, k := range r.Stored {
		name := k.What
		if name == "cursors" {
			name = "read positions"
		}
		if in := filepath.Dir(k.Path); in != stateDir { // else the line of the state directory says where
			name += " in " + k.Path
		}
		r.OK("kept", fmt.Sprintf("%s: %d, %s; %s", name, k.Count, humanize.Bytes(k.Bytes), k.Bound))
	}
}

func storedInDatabase(ctx context.Context, r *Report, stateDir string, h config.History) []Stored {
	reader, err := state.OpenReader(stateDir)
	if err != nil {
		return nil // there is none yet, or it is reported already
	}
	defer reader.Close()
	holdings, err := reader.Holdings(ctx)
	if err != nil {
		r.Warn("kept", err.Error(), "")
		return nil
	}
	bounds := map[string]string{
		"sessions": fmt.Sprintf("those that gave up or are parked for %s (history.ended_keep), those that recovered for a day", humanize.Duration(h.EndedKeep)),
		"cursors":  fmt.Sprintf("those of deleted files for %s (history.keep)", humanize.Duration(h.Keep)),
		"history":  fmt.Sprintf("for %s (history.keep), at most %s (history.max_size)", humanize.Duration(h.Keep), h.MaxSize),
		"notices":  "those that were delivered for a week",
	}
	var all []Stored
	for _, of := range holdings {
		all = append(all, Stored{of.What, filepath.Join(stateDir, "resumed.db"), of.Count, of.Bytes, bounds[of.What]})
	}
	return all
}

func storedInFiles(stateDir string, h config.History) []Stored {
	all := []Stored{
		{
			What: "outputs", Path: filepath.Join(stateDir, "runs"),
			Bound: fmt.Sprintf("for %s (history.keep), at most %s (history.runs_max_size)", humanize.Duration(h.Keep), h.RunsMaxSize),
		},
		{
			What: "copies", Path: filepath.Join(stateDir, "kept"),
			Bound: fmt.Sprintf("the newest three of a transcript for %s (history.keep)", humanize.Duration(h.Keep)),
		},
	}
	for _, dir := range dirs.Leases(os.Getenv, stateDir) {
		all = append(all, Stored{What: "leases", Path: dir, Bound: fmt.Sprintf("notes for %s (history.ended_keep)", humanize.Duration(h.EndedKeep))})
	}
	for i, k := range all {
		all[i].Count, all[i].Bytes = dirs.Measure(k.Path)
	}
	return slices.DeleteFunc(all, func(k Stored) bool {
		_, err := os.Stat(k.Path)
		return k.Count == 0 && errors.Is(err, fs.ErrNotExist)
	})
}

func examineState(r *Report) {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		r.Fail("state", err.Error(), "")
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		const writable = 0b011 // W_OK|X_OK
		above := filepath.Dir(dir)
		for _, err := os.Stat(above); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(above) {
			above = filepath.Dir(above)
		}
		if err := syscall.Access(above, writable); err != nil {
			r.Fail("state", fmt.Sprintf("%s cannot be made: %s: %v", dir, above, err), dirs.HowToOwn(dir, ownership.CurrentUser()))
			return
		}
		r.OK("state", dir+" does not exist yet: the first run creates it")
		return
	case err != nil:
		r.Fail("state", err.Error(), "")
		return
	case !info.IsDir():
		r.Fail("state", dir+" is not a directory", "mv "+dir+" "+dir+".old")
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		r.Fail("state", "it cannot be written: "+err.Error(), dirs.HowToOwn(dir, ownership.CurrentUser())+" && chmod 700 "+dir)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	if info.Mode().Perm()&0o077 != 0 {
		r.Warn("state", "other users can read "+dir, "chmod 700 "+dir)
		return
	}
	reader, err := state.OpenReader(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Fail("state", err.Error(), "")
		return
	}
	if reader != nil {
		_ = reader.Close()
	}
	r.OK("state", dir)
}

func examineTmux(ctx context.Context, r *Report) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		r.OK("tmux", "not found, and not needed: start your agents with `resumed shell`")
		return
	}
	r.OK("tmux", program.Version(ctx, nil, path, "-V"))
}

func examineDesktop(ctx context.Context, r *Report, in Input) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, errors.New("the desktop session does not answer"))
	defer cancel()
	name, err := desktop.Server(ctx)
	switch {
	case err == nil:
		r.OK("desktop", name+" shows notices")
	case len(in.Config.Notify.Desktop) == 0:
		r.OK("desktop", "not used")
	default:
		add := "[[notify.service]] in " + cmp.Or(in.ConfigPath, "the file that resumed config init writes")
		if len(in.Config.Notify.Service) > 0 {
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
