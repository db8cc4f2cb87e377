package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// idleFor is how long an idle daemon is measured.
const idleFor = 10 * time.Second

// burst is how many sessions are stopped at once.
const burst = 2000

// live measures a daemon with n sessions.
func (r *report) live(dir string, n, samples int) error {
	fmt.Fprintf(os.Stderr, "bench: %d sessions\n", n)
	if room, need := roomIn(dir), int64(n)*blockedSize; room < need {
		fmt.Fprintf(os.Stderr, "bench: left out: %s has room for %d MB and %d are needed; set TMPDIR\n", dir, room>>20, need>>20)
		return nil
	}
	h, err := newHome(filepath.Join(dir, fmt.Sprint("home", n)), n)
	if err != nil {
		return err
	}
	defer os.RemoveAll(h.dir)
	d, err := start(r.binary, h)
	if err != nil {
		return err
	}
	r.add("start until all is read", n, "%.2f s (%.2f s CPU)", d.wall.Seconds(), d.cpu.Seconds())
	r.grows("start, CPU", n, d.cpu.Seconds())
	time.Sleep(time.Second) // it stores its cursors
	d.stop()
	if d, err = start(r.binary, h); err != nil {
		return err
	}
	defer d.stop()
	r.add("start with stored cursors", n, "%.2f s (%.2f s CPU)", d.wall.Seconds(), d.cpu.Seconds())
	if err := d.follow(); err != nil {
		return err
	}
	time.Sleep(time.Second)
	before, woken := d.used(), d.wakeUps()
	time.Sleep(idleFor)
	r.add("idle CPU", n, "%.3f %%, %.1f wake-ups a second", 100*(d.used()-before).Seconds()/idleFor.Seconds(), float64(d.wakeUps()-woken)/idleFor.Seconds())
	used := d.memory()
	r.add("RssAnon / RSS", n, "%s", used)
	r.grows("RssAnon", n, used.anon)

	order := h.dice.Perm(n)
	one, many := order[:min(n, samples)], order[min(n, samples):]
	if err := r.appends(d, one); err != nil {
		return err
	}
	if len(many) >= burst {
		if err := r.burst(d, many[:burst]); err != nil {
			return err
		}
		if !r.memoryOnly {
			if err := r.page(d); err != nil {
				return fmt.Errorf("the page: %w", err)
			}
		}
	}
	return nil
}

// appends stops sessions one after the other.
func (r *report) appends(d *daemon, order []int) error {
	var logged, shown []time.Duration
	before := d.used()
	for _, i := range order {
		s := d.home.sessions[i]
		begin := time.Now()
		if err := d.home.limit(s); err != nil {
			return err
		}
		both := make(chan time.Duration, 1)
		go func() {
			_ = await(d.shown, func(line string) bool { return strings.Contains(line, s.id) })
			both <- time.Since(begin)
		}()
		if err := await(d.logged, func(line string) bool { return strings.Contains(line, s.id) }); err != nil {
			return fmt.Errorf("limit of %s: %w", s.id, err)
		}
		logged = append(logged, time.Since(begin))
		shown = append(shown, <-both)
		time.Sleep(15 * time.Millisecond) // longer than changes are batched
	}
	n := len(d.home.sessions)
	r.add("append → logged, p50 / p99", n, "%s", quantiles(logged))
	r.add("append → on the stream, p50 / p99", n, "%s", quantiles(shown))
	each := (d.used() - before) / time.Duration(len(order))
	r.add("CPU of one limit", n, "%.2f ms", ms(each))
	r.grows("one limit, CPU", n, each.Seconds())
	return nil
}

// burst stops many sessions at once.
func (r *report) burst(d *daemon, order []int) error {
	missing := make(map[string]bool)
	before, begin := d.used(), time.Now()
	for _, i := range order {
		s := d.home.sessions[i]
		missing[s.id] = true
		if err := d.home.limit(s); err != nil {
			return err
		}
	}
	err := await(d.shown, func(line string) bool {
		strike(missing, line)
		return len(missing) == 0
	})
	if err != nil {
		return err
	}
	took := time.Since(begin)
	time.Sleep(2 * time.Second) // delayed work counts, too
	n := len(d.home.sessions)
	r.add(fmt.Sprintf("%d limits at once, until all are shown", burst), n, "%.2f s", took.Seconds())
	r.add(fmt.Sprintf("%d limits at once, CPU of each", burst), n, "%.2f ms", ms((d.used()-before)/burst))
	r.add("RssAnon / RSS after that", n, "%s", d.memory())
	return nil
}

// strike removes the sessions in a line of the stream from missing. Searching each session in each line
// took longer than the measured work.
func strike(missing map[string]bool, line string) {
	const before = `{"id":"`
	for {
		_, rest, found := strings.Cut(line, before)
		if !found {
			return
		}
		id, _, _ := strings.Cut(rest, `"`)
		delete(missing, id)
		line = rest
	}
}

func quantiles(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%.1f / %.1f ms", ms(all[len(all)/2]), ms(all[len(all)*99/100]))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
