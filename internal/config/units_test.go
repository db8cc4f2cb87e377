package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/humanize"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond,
		"90d": 90 * day, "2w": 14 * day, "1w1d1h": 8*day + time.Hour, "1.5d": 36 * time.Hour,
		"0s": 0, "0d": 0, "-1d": -day, "-1d12h": -36 * time.Hour,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseDuration(humanize.Duration(got))
		require.NoError(t, err, text)
		require.Equal(t, got, again, "what is written can be read")
	}
	for _, text := range []string{"", "30", "0", "1.5", "d", "s", "1h-5m", "+5s", "1d5", "--5s", " 5s", "5 s", "soon", "inf", "nan", "1e9d", "999999999999d", "1x"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "5m", humanize.Duration(5*time.Minute))
	require.Equal(t, "192h", humanize.Duration(192*time.Hour))
	require.Equal(t, "90d", humanize.Duration(90*day))
	require.Equal(t, "1h0m5s", humanize.Duration(time.Hour+5*time.Second))
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"64MiB": 64 << 20, "1GB": 1e9, "1.5KiB": 1536, "10 kB": 10_000, "7B": 7, "0B": 0,
	} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := parseSize(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, text := range []string{"", "64", "MiB", "-1MiB", "64mib", "1XB", "99999999TiB"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "64MiB", Size(64<<20).String())
}

func TestHours(t *testing.T) {
	night, err := parseHours("22:00-08:00")
	require.NoError(t, err)
	noon, err := parseHours("12:00-13:30")
	require.NoError(t, err)
	evening, err := parseHours("18:00-24:00")
	require.NoError(t, err)
	at := func(s string) time.Time {
		when, err := time.Parse("2006-01-02 15:04:05", "2026-03-10 "+s)
		require.NoError(t, err)
		return when
	}
	for _, tt := range []struct {
		hours    Hours
		at       string
		contains bool
		next     time.Time
	}{
		{night, "23:59:59", true, at("23:59:59")},
		{night, "07:59:59", true, at("07:59:59")},
		{night, "08:00:00", false, at("22:00:00")},
		{night, "21:59:59", false, at("22:00:00")},
		{noon, "11:00:30", false, at("12:00:00")},
		{noon, "13:30:00", false, at("12:00:00").AddDate(0, 0, 1)},
		{evening, "23:59:59", true, at("23:59:59")},
		{evening, "00:00:00", false, at("18:00:00")},
		{Hours{}, "03:00:00", true, at("03:00:00")},
	} {
		require.Equal(t, tt.contains, tt.hours.Contains(at(tt.at)), "%s in %s", tt.at, tt.hours)
		require.Equal(t, tt.next, tt.hours.Next(at(tt.at)), "after %s in %s", tt.at, tt.hours)
	}
	for _, text := range []string{"22:00", "22-8", "25:00-08:00", "22:00-22:00", "00:00-24:00", "24:00-08:00", "a-b", "22:00-08:00-09:00"} {
		_, err := parseHours(text)
		require.Error(t, err, text)
	}
}

func TestHoursThatBeginInAGapOfTheClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	h, err := parseHours("02:30-05:00") // 2026-03-29 has no 02:30 there
	require.NoError(t, err)
	next := h.Next(time.Date(2026, 3, 29, 1, 0, 0, 0, berlin))
	require.Equal(t, "2026-03-29 03:00:00 +0200 CEST", next.String())
}
