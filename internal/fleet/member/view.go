package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"
	"time"

	"resumed/internal/config"
	"resumed/internal/fleet"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/wake"
)

// viewer publishes the interrupted sessions of this host for the others.
type viewer struct {
	*membership
	noted  wake.Signal                    // something may have changed
	counts atomic.Pointer[map[string]int] // how many sessions are shown, by account

	shown map[string]showing // owned by run
}

type showing struct {
	text string
	at   time.Time
}

const (
	viewPause = 2 * time.Second

	// viewAgain is when an unchanged session is published again, long before it expires.
	viewAgain = fleet.ViewTTL / 4
)

func newViewer(m *membership) *viewer {
	v := &viewer{membership: m, noted: wake.NewSignal(), shown: make(map[string]showing)}
	v.counts.Store(&map[string]int{})
	return v
}

func (v *viewer) shows() map[string]int { return *v.counts.Load() }

func (v *viewer) run(ctx context.Context) {
	v.noted.Send()
	old, _ := v.store.List(ctx, fleet.View, v.host+".") // of an earlier daemon, to be removed; otherwise it expires by itself
	for _, e := range old {
		v.shown[e.Key] = showing{}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.noted:
		case <-time.After(time.Minute):
		}
		if v.show(ctx) != nil {
			v.noted.Send() // again, soon
		}
		if !wake.Sleep(ctx, viewPause) {
			return
		}
	}
}

func (v *viewer) show(ctx context.Context) error {
	sessions, err := v.opts.Engine.Stored(ctx)
	if err != nil {
		return err
	}
	share, here, counts := v.opts.Settings().Fleet.Share, make(map[string]bool), make(map[string]int)
	for _, s := range sessions {
		if !s.Interrupted() {
			continue
		}
		key := v.host + "." + notInKeys().ReplaceAllString(s.Key.Agent, "_") + "." + shortHash(s.Key.ID)
		here[key] = true
		counts[v.account(*s)]++
		text, err := json.Marshal(shared(v.opts.View(*s), share))
		if err == nil && len(text) > fleet.LargestValue { // other hosts would not read it
			text, err = json.Marshal(shared(v.opts.View(*s), config.ShareFacts))
		}
		if err != nil {
			return err
		}
		if was := v.shown[key]; was.text == string(text) && time.Since(was.at) < viewAgain {
			continue
		}
		if err := v.store.Put(ctx, fleet.View, key, text); err != nil {
			return err
		}
		v.shown[key] = showing{string(text), time.Now()}
	}
	v.counts.Store(&counts)
	for key := range v.shown {
		if here[key] {
			continue
		}
		if err := v.store.Remove(ctx, fleet.View, key); err != nil {
			return err
		}
		delete(v.shown, key)
	}
	return nil
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// shared removes the parts of a session that are not shared: without share = "texts", everything that
// somebody wrote and what it was started with.
func shared(v view.Session, share string) view.Session {
	v.Plan, v.Past = nil, nil
	v.Account, v.Provider = fleet.NameForOthers(v.Account), fleet.NameForOthers(v.Provider)
	if share == config.ShareTexts {
		return v
	}
	v.Text, v.Reason, v.Unreached, v.Transcript, v.Program = "", "", "", "", ""
	v.Started, v.Carried, v.Attempts = view.Start{Argv: []string{}, Env: []string{}}, view.NotRepeated{LeftOut: []string{}}, []view.Attempt{}
	if v.Owner != nil {
		v.Owner = &resume.Owner{PID: v.Owner.PID, Kind: v.Owner.Kind}
	}
	return v
}
