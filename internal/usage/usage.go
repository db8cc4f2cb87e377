// Package usage computes how much of an account's allowances is used, when they will be full at the
// recent pace, and what to report about that. It reads no files: the agents' packages read the use from
// files that the agents write anyway.
package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/wake"
)

// The windows that most providers use.
const (
	FiveHours = "five_hour"
	SevenDays = "seven_day"
)

// Reading is the use of one window of an account at one time.
type Reading struct {
	Kind     string        `json:"kind"`
	Length   time.Duration `json:"length"`
	Used     float64       `json:"used"` // percent
	ResetsAt time.Time     `json:"resets_at"`
	At       time.Time     `json:"at"`
}

// Kind returns the name of a window by its length.
func Kind(length time.Duration) string {
	switch length.Round(time.Hour) {
	case 5 * time.Hour:
		return FiveHours
	case 7 * 24 * time.Hour:
		return SevenDays
	case 24 * time.Hour:
		return "day"
	default:
		return fmt.Sprintf("%d_minutes", int(length.Minutes()))
	}
}

// sane reports whether a reading can be true: other programs write the files.
func (r Reading) sane() bool {
	return r.Length >= time.Minute && r.Length <= 366*24*time.Hour && r.Used >= 0 && r.Used <= 1000 &&
		!r.At.IsZero() && r.ResetsAt.After(r.At) && r.ResetsAt.Sub(r.At) <= r.Length+r.Length/4+slip
}

// slip is by how much the stated end of one window may differ between readings.
const slip = 2 * time.Minute

// detail is into how many parts a window is divided. Of each part, only the last reading is stored.
const detail = 300

type window struct {
	Readings []Reading `json:"readings"` // the oldest first
	Told     float64   `json:"told"`     // the highest mark that was reported
}

func (w *window) last() Reading { return w.Readings[len(w.Readings)-1] }

// add adds a reading that is newer than all others. A reading with a later end begins a new window.
func (w *window) add(r Reading) bool {
	if len(w.Readings) == 0 {
		w.Readings = append(w.Readings, r)
		return true
	}
	last := w.last()
	switch ends := r.ResetsAt.Sub(last.ResetsAt); {
	case !r.At.After(last.At) || ends < -slip:
		return false // old, or of another window that a file still contains
	case ends > slip:
		*w = window{Readings: []Reading{r}}
		return true
	}
	gap := r.Length / detail
	if n := len(w.Readings); n > 1 && r.At.Sub(w.Readings[n-2].At) < gap {
		w.Readings[n-1] = r
		return true
	}
	w.Readings = append(w.Readings, r)
	if over := len(w.Readings) - 2*detail; over > 0 {
		w.Readings = append(w.Readings[:0], w.Readings[over:]...)
	}
	return true
}

// Window is one window of an account, as shown to people and programs.
type Window struct {
	Kind     string     `json:"kind"`
	Used     float64    `json:"used_percent"`
	ResetsAt time.Time  `json:"resets_at"`
	PerHour  *float64   `json:"percent_per_hour"` // null: not known
	FullAt   *time.Time `json:"full_at"`          // null: not before it resets, or not known
	Earliest *time.Time `json:"full_at_earliest"`
	Latest   *time.Time `json:"full_at_latest"`
	Source   string     `json:"source"` // always "reported"
	At       time.Time  `json:"at"`     // when it was read
}

// Meters are the windows of all accounts. They may be used from several goroutines.
type Meters struct {
	mu sync.Mutex
	of map[string]map[string]*window // by account, and by kind
}

// maxAccounts and maxKinds bound what is stored: the names come from files of other programs.
const maxAccounts, maxKinds = 200, 10

// NewMeters returns the meters that Keep stored, or empty ones if those cannot be read.
func NewMeters(kept []byte) *Meters {
	m := &Meters{}
	if json.Unmarshal(kept, &m.of) != nil || m.of == nil {
		m.of = map[string]map[string]*window{}
	}
	for _, kinds := range m.of {
		maps.DeleteFunc(kinds, func(_ string, w *window) bool {
			return w == nil || len(w.Readings) == 0 || slices.ContainsFunc(w.Readings, func(r Reading) bool { return !r.sane() })
		})
	}
	return m
}

// Marshal returns all meters for storage, without windows that are over.
func (m *Meters) Marshal(now time.Time) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for account, kinds := range m.of {
		maps.DeleteFunc(kinds, func(_ string, w *window) bool { return !w.last().ResetsAt.After(now) })
		if len(kinds) == 0 {
			delete(m.of, account)
		}
	}
	return json.Marshal(m.of)
}

// Add adds readings of an account's windows, and reports whether they are new. Readings from the future
// are ignored.
func (m *Meters) Add(account string, now time.Time, readings ...Reading) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := false
	for _, r := range slices.SortedFunc(slices.Values(readings), func(a, b Reading) int { return a.At.Compare(b.At) }) {
		if !r.sane() || r.At.After(now.Add(slip)) || !r.ResetsAt.After(now) {
			continue
		}
		kinds := m.of[account]
		if kinds == nil {
			if len(m.of) >= maxAccounts {
				continue
			}
			kinds = map[string]*window{}
			m.of[account] = kinds
		}
		if kinds[r.Kind] == nil {
			if len(kinds) >= maxKinds {
				continue
			}
			kinds[r.Kind] = &window{}
		}
		news = kinds[r.Kind].add(r) || news
	}
	return news
}

// Windows returns the windows of an account that are not over, the short ones first.
func (m *Meters) Windows(account string, now time.Time) []Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []Window{}
	for _, w := range slices.SortedFunc(maps.Values(m.of[account]), func(a, b *window) int {
		return cmp.Or(cmp.Compare(a.last().Length, b.last().Length), cmp.Compare(a.last().Kind, b.last().Kind))
	}) {
		if last := w.last(); last.ResetsAt.After(now) {
			all = append(all, w.view(now))
		}
	}
	return all
}

func (w *window) view(now time.Time) Window {
	last := w.last()
	v := Window{Kind: last.Kind, Used: last.Used, ResetsAt: last.ResetsAt.UTC(), Source: "reported", At: last.At.UTC()}
	w.forecast(now, &v)
	return v
}

// marks are the percentages that are reported to people, once per window.
var marks = [...]float64{95, 80}

// Threshold returns the highest mark that this use has passed; 0: none.
func Threshold(used float64) float64 {
	for _, mark := range marks {
		if used >= mark {
			return mark
		}
	}
	return 0
}

// Crossed returns the windows of an account that passed a mark since the last call.
func (m *Meters) Crossed(account string, now time.Time) []Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	var crossed []Window
	for _, w := range m.of[account] {
		if mark := Threshold(w.last().Used); w.Told < mark {
			w.Told = mark
			crossed = append(crossed, w.view(now))
		}
	}
	slices.SortFunc(crossed, func(a, b Window) int { return a.ResetsAt.Compare(b.ResetsAt) })
	return crossed
}

const (
	// few is how many readings a pace needs at least, rise how many percent of growth: readings are
	// whole percents.
	few  = 3
	rise = 2.0
	full = 100.0
)

// horizons are after which share of the window's length a reading counts half: for the recent pace, and
// for those over a shorter and a longer time.
var horizons = [...]float64{1.0 / 4, 1.0 / 12, 1}

// forecast adds when the window will be full at the recent pace, unless that is not known: there are too
// few readings, nothing is being used, or it resets before. The range comes from the paces over a shorter
// and a longer time.
func (w *window) forecast(now time.Time, v *Window) {
	first, last := w.Readings[0], w.last()
	idle := last.Length / 10
	if len(w.Readings) < few || last.Used-first.Used < rise || last.Used >= full || now.Sub(last.At) > idle {
		return
	}
	var fullAt []time.Time
	for i, share := range horizons {
		perHour := w.pace(time.Duration(share * float64(last.Length)))
		if perHour <= 0 {
			if i == 0 {
				return
			}
			continue
		}
		at := last.At.Add(hours((full - last.Used) / perHour))
		if i == 0 {
			v.PerHour = new(perHour)
			if at.After(last.ResetsAt) {
				return
			}
		}
		if at.After(last.ResetsAt) {
			at = last.ResetsAt
		}
		fullAt = append(fullAt, at.UTC().Truncate(time.Second))
	}
	v.FullAt, v.Earliest, v.Latest = &fullAt[0], new(slices.MinFunc(fullAt, time.Time.Compare)), new(slices.MaxFunc(fullAt, time.Time.Compare))
}

// pace is by how many percent per hour the use grew from reading to reading. Older readings count less.
// Work comes in phases, so the total use is a better estimate than a regression line.
func (w *window) pace(half time.Duration) float64 {
	last := w.last()
	var used, took float64
	for i, r := range w.Readings[1:] {
		before := w.Readings[i]
		counts := math.Exp2(-last.At.Sub(r.At).Hours() / half.Hours())
		used += counts * (r.Used - before.Used)
		took += counts * r.At.Sub(before.At).Hours()
	}
	if took <= 0 {
		return 0
	}
	return used / took
}

func hours(h float64) time.Duration {
	return time.Duration(min(h, 24*366) * float64(time.Hour))
}

// Collector reads how much of their allowances the accounts have used, from the files of the agents of
// sessions that moved. It asks no provider.
type Collector struct {
	opts   CollectorOptions
	meters *Meters

	mu    sync.Mutex
	moved map[resume.AccountKey]resume.Session // for each account, the session that moved last since the last reading
	began map[resume.AccountKey]time.Time      // when the last reading of an account began
	waits map[resume.AccountKey]time.Time      // since when somebody waits for a reading of it
	some  wake.Signal                          // there is one that moved
	asked wake.Signal                          // somebody waits for a reading
}

// CollectorOptions are what a Collector works with. All are required.
type CollectorOptions struct {
	Store interface {
		Value(key string) ([]byte, bool)
		PutValue(key string, value []byte)
	}
	Read    func(context.Context, resume.Session) ([]Reading, error) // reads what the agent of a session recorded
	Report  func(resume.AccountKey, Window)                          // much of a window is used
	Changed func()                                                   // the windows of an account have changed
}

const metersKey = "usage/meters"

const collectEvery = time.Minute

// longestWait is after what time who asked for a fresh reading no longer waits for it.
const longestWait = 10 * time.Second

// NewCollector returns a collector with the meters that were stored.
func NewCollector(opts CollectorOptions) *Collector {
	stored, _ := opts.Store.Value(metersKey)
	return &Collector{
		opts: opts, meters: NewMeters(stored),
		moved: make(map[resume.AccountKey]resume.Session), began: make(map[resume.AccountKey]time.Time), waits: make(map[resume.AccountKey]time.Time),
		some: wake.NewSignal(), asked: wake.NewSignal(),
	}
}

// Observe stores which session moved. It does not block.
func (c *Collector) Observe(change resume.Change) {
	switch change.Event.(type) {
	case resume.Progressed, resume.Limited:
	default:
		return
	}
	c.mu.Lock()
	c.moved[change.After.AccountKey()] = change.After
	c.mu.Unlock()
	c.some.Send()
}

// Run reads whenever a session moved, until ctx is done.
func (c *Collector) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.some:
		}
		c.readMoved(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.asked:
		case <-time.After(collectEvery):
		}
	}
}

// IsFresh reports whether the last reading of an account has what its sessions recorded until now. If not,
// they are read soon. For who asks again and again it also has what was recorded until the first time: the
// sessions may move all the time.
func (c *Collector) IsFresh(account resume.AccountKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, waits := c.waits[account]
	waits = waits && time.Since(since) < longestWait
	if _, moved := c.moved[account]; !moved || waits && !c.began[account].Before(since) {
		delete(c.waits, account)
		return true
	}
	if !waits {
		c.waits[account] = time.Now()
	}
	c.asked.Send()
	return false
}

func (c *Collector) readMoved(ctx context.Context) {
	c.mu.Lock()
	moved := maps.Clone(c.moved)
	c.mu.Unlock()
	for account, s := range moved {
		began := time.Now()
		// A file that cannot be read now is read when the session moves again.
		if readings, err := c.opts.Read(ctx, s); err == nil {
			c.Add(account, readings)
		}
		c.mu.Lock()
		if c.moved[account].Seen == s.Seen {
			delete(c.moved, account)
		}
		c.began[account] = began
		c.mu.Unlock()
	}
}

// Add stores readings of an account, and reports the windows that have passed a mark.
func (c *Collector) Add(account resume.AccountKey, readings []Reading) {
	now := time.Now()
	if !c.meters.Add(account.String(), now, readings...) {
		return
	}
	for _, w := range c.meters.Crossed(account.String(), now) {
		c.opts.Report(account, w)
	}
	if data, err := c.meters.Marshal(now); err == nil {
		c.opts.Store.PutValue(metersKey, data)
	}
	c.opts.Changed()
}

// Windows returns the windows of an account that are not over, the short ones first.
func (c *Collector) Windows(account resume.AccountKey) []Window {
	return c.meters.Windows(account.String(), time.Now())
}
