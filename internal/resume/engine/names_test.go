package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestNamesAreBeginningsThatNoOtherHas(t *testing.T) {
	want := map[string]string{
		"a/4f2a77": "4f2a", "a/4f2b99": "4f2b", "a/x": "x", "a/9c1d-aaaa-1": "9c1d-aaaa-1", "a/9c1d-aaaa-2": "9c1d-aaaa-2",
		"a/ses_e237ddd5": "ses_e237", "a/same": "a/same", "b/same": "b/same", "a/日本語": "日本", "a/日付変更": "日付",
		"a/-bad-1": "a/-bad-1", "a/abc-def": "abc-d", // not "abc-"
		"a/01990000-1111-7222-8333-444444444444": "01990000-1111",
		"a/01990000-2222-7333-8444-555555555555": "01990000-2222-73",
		"a/01990000-2222-7444-8444-555555555555": "01990000-2222-74",
	}
	var all []view.Session
	known := newBook()
	for full := range want {
		s := seen(full, resume.Watching)
		if known.put(resume.Session{Key: s.Key()}); len(all)%3 == 0 {
			known.name(s.Key()) // also if other sessions come between two names
		}
		all = append(all, s)
	}
	for _, s := range all {
		full, name := s.Key().String(), known.name(s.Key())
		require.Equal(t, want[full], name, full)
		found, err := view.Find(all, name)
		require.NoError(t, err, full)
		require.Equal(t, s.Key(), found.Key(), full)
	}
}

// crowd runs an engine and adds sessions, stopped or not.
type crowd struct {
	*Engine
	t    *testing.T
	kept map[resume.Key]resume.Session // as on disk
	stop context.CancelFunc
}

func newCrowd(t *testing.T, left map[resume.Key]resume.Session) *crowd {
	c := &crowd{t: t, kept: make(map[resume.Key]resume.Session)}
	var sessions []resume.Session
	for key, s := range left {
		c.kept[key] = s
		sessions = append(sessions, s)
	}
	c.Engine = New(Options{
		Rules: defaultRules(), Sessions: sessions, Paused: true, Rand: func() float64 { return 0.5 }, Mark: func() string { return "mark" },
		Act: func(context.Context, resume.Session) {},
		Changed: func(change resume.Change) {
			if change.After.WorthKeeping() {
				c.kept[change.After.Key] = change.After
			}
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	c.stop = func() { stop(); require.NoError(t, <-done) }
	return c
}

func (c *crowd) see(id string, ev resume.Event) {
	require.NoError(c.t, c.Observe(c.t.Context(), []resume.Observation{{
		Key: resume.Key{Agent: "codex", ID: id}, Account: "codex:default", Cwd: "/src", Pos: resume.Position{Epoch: id, Offset: time.Now().UnixNano()}, Event: ev,
	}}))
}

func (c *crowd) views() []view.Session {
	all, err := c.Sessions(c.t.Context())
	require.NoError(c.t, err)
	var views []view.Session
	for _, s := range all {
		views = append(views, view.Of(*s, 0))
	}
	return views
}

// Ids of Codex begin with the time at which they were made.
func timed(at time.Time) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7%03x-8%03x-%012x", ms[:8], ms[8:], rand.IntN(1<<12), rand.IntN(1<<12), rand.Int64N(1<<48))
}

// A printed name means the same session as long as that is known, whatever sessions come later, and
// after a restart.
func TestANameMeansTheSameSessionForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		printed := make(map[string]string) // names of sessions that are stopped
		note := func() {
			for _, v := range c.views() {
				if !v.Interrupted() {
					continue
				}
				for name, id := range printed {
					if id == v.ID {
						require.Equal(t, name, v.Name, "a name stays")
					}
				}
				printed[v.Name] = v.ID
			}
		}
		check := func() {
			all := c.views()
			for name, id := range printed {
				found, err := view.Find(all, name)
				require.NoError(t, err)
				require.Equal(t, id, found.ID)
				key, err := c.Find(t.Context(), name)
				require.NoError(t, err)
				require.Equal(t, found.Key(), key)
			}
		}
		for day := range 4 {
			for range 20 { // of one millisecond, one second, one minute; and others with the same prefix
				now := time.Now()
				for i, id := range []string{timed(now), timed(now), timed(now), timed(now.Add(time.Second / 3)), "task-" + timed(now), "task-4f2a"} {
					if i%2 == 0 {
						c.see(id, limited(time.Now(), limit.UsageLimit))
					} else {
						c.see(id, resume.Progressed{At: time.Now()})
					}
				}
				note()
				time.Sleep(time.Duration(rand.Int64N(int64(time.Minute))))
			}
			check()
			if day == 1 {
				c.stop()
				c = newCrowd(t, c.kept)
			}
			time.Sleep(20 * time.Hour)
			check()
		}
		require.Greater(t, len(printed), 200)
		c.stop()
	})
}

// The engine reads only the sessions that may be meant, and finds the same as a search of all.
func TestTheEngineFindsWhatALookAtAllFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil)
		for i := range 200 {
			seen := resume.Observation{
				Key: resume.Key{Agent: []string{"a", "bot"}[i%2], ID: fmt.Sprintf("%x", rand.IntN(1<<12))}, Account: "x", Cwd: fmt.Sprintf("/src/%x", rand.IntN(64)),
				Pos: resume.Position{Epoch: "1", Offset: int64(i)}, Event: resume.Progressed{At: time.Now()},
			}
			if i%5 == 0 {
				seen.Event = limited(time.Now(), limit.UsageLimit)
			}
			require.NoError(t, c.Observe(t.Context(), []resume.Observation{seen}))
		}
		all := c.views()
		for i := range 2000 {
			text := fmt.Sprintf("%x", rand.IntN(1<<(4*(i%4))))
			switch i % 7 {
			case 0:
				text = "bot/" + text
			case 1:
				text = "a/"
			case 2:
				text = all[i%len(all)].Name
			}
			want, wantErr := view.Find(all, text)
			key, err := c.Find(t.Context(), text)
			require.Equal(t, want.Key(), key, text)
			require.Equal(t, wantErr, err, text)
		}
		c.stop()
	})
}
