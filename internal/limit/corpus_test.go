package limit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is one message as agents print it, with what it means. The hint's
// grammar: epoch:N, epoch_ms:N, clock:HH:MM;tz=Z, date:[YYYY-]MM-DD[THH:MM];tz=Z,
// weekday:Mon 00:00;tz=Z, duration:5d22h11m, datetime:RFC3339, daily:HH:MM;tz=Z, now.
type sample struct {
	Agent, Text string
	Class       Class
	ResetHint   string `json:"reset_hint"`
	Date        string
	Running     bool `json:"in_progress"`
	Status      int
}

func samples(t *testing.T, file string) []sample {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	require.NoError(t, err)
	defer f.Close()
	var all []sample
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s), file)
		all = append(all, s)
	}
	require.NoError(t, lines.Err(), file)
	require.NotEmpty(t, all, file)
	return all
}

// reader is a reader at noon, UTC, of the day when the message was seen.
func (s sample) reader() Reader {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, layout := range []string{"2006-01-02", "2006-01", "2006"} {
		if d, err := time.Parse(layout, s.Date); err == nil {
			at = d.Add(12 * time.Hour)
			break
		}
	}
	return Reader{At: at, Zone: time.UTC, Grace: 10 * time.Minute}
}

// want computes the time of the hint without the grammar of the package.
func (s sample) want(t *testing.T, r Reader) (time.Time, bool) {
	t.Helper()
	kind, rest, _ := strings.Cut(s.ResetHint, ":")
	value, zone := rest, time.UTC
	if v, tz, ok := strings.Cut(rest, ";tz="); ok {
		value = v
		if z, err := time.LoadLocation(tz); err == nil { // otherwise local, as in the grammar
			zone = z
		}
	}
	number := func() int64 {
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		return n
	}
	switch kind {
	case "":
		return time.Time{}, false
	case "now":
		return r.At, true
	case "epoch":
		return time.Unix(number(), 0), true
	case "epoch_ms":
		return time.UnixMilli(number()), true
	case "datetime":
		at, err := time.Parse(time.RFC3339, value)
		require.NoError(t, err)
		return at, true
	case "duration":
		if days, after, ok := strings.Cut(value, "d"); ok {
			n, err := strconv.Atoi(days)
			require.NoError(t, err)
			d := time.Duration(0)
			if after != "" {
				d, err = time.ParseDuration(after)
				require.NoError(t, err)
			}
			return r.At.Add(time.Duration(n)*24*time.Hour + d), true
		}
		d, err := time.ParseDuration(value)
		require.NoError(t, err)
		return r.At.Add(d), true
	case "clock", "daily":
		at, err := time.Parse("15:04", value)
		require.NoError(t, err)
		return step(r, at, zone, func(base time.Time, n int) time.Time { return base.AddDate(0, 0, n) }), true
	case "weekday":
		at, err := time.Parse("Mon 15:04", value)
		require.NoError(t, err)
		for n := 0; ; n++ {
			here := r.At.In(zone).AddDate(0, 0, n)
			on := time.Date(here.Year(), here.Month(), here.Day(), at.Hour(), at.Minute(), 0, 0, zone)
			if on.Format("Mon") == value[:3] && !on.Before(r.At) {
				return on, true
			}
		}
	case "date":
		for _, layout := range []string{"2006-01-02T15:04", "2006-01-02", "01-02T15:04", "01-02"} {
			at, err := time.ParseInLocation(layout, value, zone)
			if err != nil {
				continue
			}
			if strings.HasPrefix(layout, "2006") {
				return at, true
			}
			for y := r.At.Year(); ; y++ {
				if on := time.Date(y, at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, zone); !on.Before(r.At.AddDate(0, 0, -31)) {
					return on, true
				}
			}
		}
	}
	t.Fatalf("hint %q", s.ResetHint)
	return time.Time{}, false
}

func step(r Reader, clock time.Time, zone *time.Location, on func(time.Time, int) time.Time) time.Time {
	here := r.At.In(zone)
	base := time.Date(here.Year(), here.Month(), here.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
	for n := -1; ; n++ {
		if at := on(base, n); !at.Before(r.At.Add(-r.Grace)) {
			return at
		}
	}
}

// unstated are messages with a hint from another source: the message does not contain that time, so it
// must not be read from it.
var unstated = map[string]string{
	"duration:60s":                       "limited to 8 requests per minute",
	"daily:00:00;tz=America/Los_Angeles": "daily gemini-2.5-pro quota limit",
}

func TestMessagesAsAgentsPrintThem(t *testing.T) { readAll(t, "messages.jsonl") }

// Messages of agents and providers that people pasted and that the grammar was not made for, and
// sentences with the same words that are not refusals.
func TestMessagesAsPeoplePasteThem(t *testing.T) { readAll(t, "pasted.jsonl") }

// Each line of the phrases, families and wordings that the weights are learned from.
func TestMessagesThatWereLearnedFrom(t *testing.T) {
	for _, file := range []string{"families.jsonl", "worded.jsonl", "elsewhere.jsonl"} {
		all, right := 0, 0
		for _, s := range samples(t, file) {
			all++
			if noon.Text(s.Text).Class == s.Class {
				right++
			}
		}
		t.Logf("%s: %d of %d", file, right, all)
		require.Greater(t, right, all*93/100, file)
	}
}

func readAll(t *testing.T, file string) {
	t.Helper()
	for _, s := range samples(t, file) {
		t.Run(s.Agent+"/"+s.Text[:min(len(s.Text), 60)], func(t *testing.T) {
			r := s.reader()
			v := r.Text(s.Text)
			require.Equal(t, s.Class, v.Class, s.Text)
			if v.Class == None {
				require.Equal(t, Verdict{}, v)
				return
			}
			require.Equal(t, v.Class.Transient(), v.WaitHelps)
			require.Equal(t, s.Running, v.InProgress)
			if part, ok := unstated[s.ResetHint]; ok && strings.Contains(s.Text, part) {
				require.False(t, v.Reset.Stated())
				return
			}
			want, stated := s.want(t, r)
			require.Equal(t, stated, v.Reset.Stated(), "hint %q, read %v", s.ResetHint, v.Reset)
			if stated {
				require.WithinDuration(t, want, v.Reset.At, 0, s.Text)
			}
		})
	}
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	return at
}

func TestATimeAloneIsOfWords(t *testing.T) {
	for text, want := range map[string]Reset{
		"5m":   {At: noon.At.Add(5 * time.Minute), Counted: true},
		"3pm":  {At: noon.At.Add(3 * time.Hour), Rough: true},
		"soon": {},
	} {
		got, ok := noon.When(text)
		require.Equal(t, want.Stated(), ok, text)
		if ok {
			want.Source = Words
		}
		require.Equal(t, want, got, text)
	}
}
