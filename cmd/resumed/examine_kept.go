//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/config"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/state"
)

// kept is how much of one kind is kept, where, and until when.
type kept struct {
	What  string `json:"what"` // sessions | cursors | history | notices | outputs | copies | leases
	Path  string `json:"path"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	Bound string `json:"bound"` // in words
}

// examineKept says what is kept, and how large it is; by the built-in bounds
// where the configuration cannot be read.
func examineKept(ctx context.Context, e *examination, cfg config.Config, readable bool) {
	stateDir, err := dirs.State(os.Getenv)
	if err != nil {
		return // that is told already
	}
	if !readable {
		cfg = config.Default()
	}
	e.kept = slices.Concat([]kept{}, keptInDatabase(ctx, e, stateDir, cfg.History), keptInFiles(stateDir, cfg.History))
	for _, k := range e.kept {
		name := k.What
		if name == "cursors" {
			name = "read positions"
		}
		if in := filepath.Dir(k.Path); in != stateDir { // else the state's line says where
			name += " in " + k.Path
		}
		e.ok("kept", fmt.Sprintf("%s: %d, %s; %s", name, k.Count, bytesOf(k.Bytes), k.Bound))
	}
}

func keptInDatabase(ctx context.Context, e *examination, stateDir string, h config.History) []kept {
	reader, err := state.OpenReader(stateDir)
	if err != nil {
		return nil // there is none yet, or it is told already
	}
	defer reader.Close()
	holdings, err := reader.Holdings(ctx)
	if err != nil {
		e.warn("kept", err.Error(), "")
		return nil
	}
	bounds := map[string]string{
		"sessions": fmt.Sprintf("those that gave up or are parked for %s (history.ended_keep), those that recovered for a day", humanize.Duration(h.EndedKeep)),
		"cursors":  fmt.Sprintf("those of deleted files for %s (history.keep)", humanize.Duration(h.Keep)),
		"history":  fmt.Sprintf("for %s (history.keep), at most %s (history.max_size)", humanize.Duration(h.Keep), h.MaxSize),
		"notices":  "those that were delivered for a week",
	}
	var all []kept
	for _, of := range holdings {
		all = append(all, kept{of.What, filepath.Join(stateDir, "resumed.db"), of.Count, of.Bytes, bounds[of.What]})
	}
	return all
}

func keptInFiles(stateDir string, h config.History) []kept {
	all := []kept{
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
		all = append(all, kept{What: "leases", Path: dir, Bound: fmt.Sprintf("notes for %s (history.ended_keep)", humanize.Duration(h.EndedKeep))})
	}
	for i, k := range all {
		all[i].Count, all[i].Bytes = measure(k.Path)
	}
	return slices.DeleteFunc(all, func(k kept) bool { return k.Count == 0 && !exists(k.Path) })
}

// measure returns how many files there are below dir, and how large they are
// together. Notes of a few bytes, whose a directory is and how a command ended, do
// not count.
func measure(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read is not counted
		if err == nil && entry.Type().IsRegular() && entry.Name() != "agent" && filepath.Ext(entry.Name()) != ".exit" {
			if info, err := entry.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
		}
		return nil
	})
	return files, bytes
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// bytesOf says a size in words.
func bytesOf(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size := float64(n)
	for len(units) > 1 && size >= 1024 {
		size, units = size/1024, units[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + units[0]
}
