package backend

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/journal"
	"resumed/internal/resume"
	"resumed/internal/runfiles"
	"resumed/internal/runner"
	"resumed/internal/state"
	"resumed/internal/webui"
)

// These bound what the page shows of one session.
const (
	shownSteps  = 200
	shownOutput = 16 << 10
)

// Detail returns everything that is known about one session.
func (b *Backend) Detail(ctx context.Context, key resume.Key) (webui.Detail, error) {
	these, err := b.opts.Engine.These(ctx, []resume.Key{key})
	if err != nil || len(these) == 0 {
		return webui.Detail{}, errors.Join(err, resume.ErrNoSession)
	}
	session := *these[0]
	shown := webui.Detail{Session: b.opts.View(session), GoOn: b.opts.Continue(session)}
	shown.Session.Plan = new(b.opts.Deliver.Preview(ctx, session))
	if shown.Backoff, err = b.opts.Engine.Backoff(ctx, key); err != nil {
		return webui.Detail{}, err
	}
	for step, err := range b.Steps(ctx, key, time.Time{}, shownSteps) {
		if err != nil {
			return webui.Detail{}, err
		}
		shown.Steps = append(shown.Steps, step)
	}
	shown.Runs, err = runs(b.opts.StateDir, key)
	return shown, err
}

// Steps returns the newest steps since a time, oldest first: of one session or, if the key is zero, of
// all.
func (b *Backend) Steps(ctx context.Context, key resume.Key, since time.Time, most int) iter.Seq2[control.Step, error] {
	return journal.Steps(ctx, b.opts.Store, state.Filter{Key: key, Since: since, Last: most}, nil)
}

// OwnSteps returns the steps since a time that concern the daemon itself, oldest first.
func (b *Backend) OwnSteps(ctx context.Context, since time.Time) iter.Seq2[control.Step, error] {
	return journal.Steps(ctx, b.opts.Store, state.Filter{Own: true, Since: since}, nil)
}

func runs(stateDir string, key resume.Key) ([]webui.Run, error) {
	kept, err := runfiles.Outputs(stateDir)
	if err != nil {
		return nil, err
	}
	var all []webui.Run
	for _, path := range runfiles.Runs(kept[key]) {
		run := webui.Run{}
		run.N, _ = strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".log"))
		run.Began, run.Ended, run.How = runfiles.RunOf(path)
		run.Text, err = runner.Tail(path, shownOutput)
		info, missing := os.Stat(path)
		switch err := errors.Join(err, missing); {
		case errors.Is(err, fs.ErrNotExist): // an old one that was just removed
		case err != nil:
			return nil, err
		default:
			run.Cut = info.Size() > shownOutput
			all = append(all, run)
		}
	}
	return all, nil
}
