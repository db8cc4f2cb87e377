package when

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit/token"
)

// reads checks what is read from each text: "" is nothing.
func reads(t *testing.T, r Reader, texts map[string]string) {
	t.Helper()
	for text, want := range texts {
		got, ok := r.When(text)
		require.Equal(t, want != "", ok, "%q was read as %v", text, got.At)
		if ok {
			require.Equal(t, want, got.At.UTC().Format(time.RFC3339Nano), text)
		}
	}
}

// printed returns a reader of words that were printed then, by a clock in UTC.
func printed(t *testing.T, at string) Reader {
	t.Helper()
	then, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	return Reader{At: then, Zone: time.UTC, Grace: 20 * time.Minute}
}

func TestClockTimesAsTheyAreWritten(t *testing.T) {
	reads(t, noon, map[string]string{
		"15:30:15.250":      "2026-11-15T15:30:15Z",
		"15:30:5":           "2026-11-15T15:30:00Z",
		"à 15h30":           "2026-11-15T15:30:00Z",
		"à 15h59":           "2026-11-15T15:59:00Z",
		"à 15h60":           "2026-11-15T15:00:00Z", // no minute has this number
		"3:07 Uhr pm":       "2026-11-15T15:07:00Z",
		"额度将于下午3点重置":        "2026-11-15T15:00:00Z",
		"in 00:30:00":       "2026-11-15T12:30:00Z",
		"in 01:30:15":       "2026-11-15T13:30:15Z",
		"in 12345:30:00":    "",
		"15:00:00 tomorrow": "2026-11-16T15:00:00Z",
		"00:30":             "2026-11-16T00:30:00Z",
		"15:59":             "2026-11-15T15:59:00Z",
		"15:60":             "",
		"23:59:59":          "2026-11-15T23:59:59Z",
		"24:00":             "2026-11-16T00:00:00Z",
		"24:01":             "",
		"制限は15時にリセットされます":   "2026-11-15T15:00:00Z",
		"制限は15時に":           "",
		"3pm, May be later": "2026-11-15T15:00:00Z",
		"3pm, 45 Nov":       "2026-11-15T15:00:00Z",
		"制限は3日後":            "2026-11-18T12:00:00Z",
	})
}

// What says more about a time may stand behind it, in any spelling of the time.
func TestADayMayFollowTheTime(t *testing.T) {
	for time, utc := range map[string]string{
		"noon": "12:00", "midnight": "00:00", "3pm": "15:00", "15:00pm": "15:00", "3 p.m.": "15:00", "3:07 p.m.": "15:07", "3:07 a.m.": "03:07", "15:30:00": "15:30",
		"15 Uhr": "15:00", "下午3点30分": "15:30", "下午3点": "15:00", "à 15h00": "15:00", "3:07 Uhr": "03:07",
		"3pm UTC": "15:00", "3pm (UTC)": "15:00", "3pm Z": "15:00", "3pm PST": "23:00", "3pm Pacific Time": "23:00", "3pm (Pacific Standard Time)": "23:00",
		"3pm local time": "15:00", "3pm your local timezone": "15:00", "3pm America/New_York": "20:00", "3pm (America/New_York)": "20:00", "3pm UTC+2": "13:00", "3pm +0200": "13:00", "3pm (UTC-03:30)": "18:30",
		"3pm (somewhere)": "15:00", "3pm (one two three four five six seven eight nine ten)": "15:00",
	} {
		reads(t, noon, map[string]string{
			time + " on Nov 18":       "2026-11-18T" + utc + ":00Z",
			time + " on Nov 18, 2027": "2027-11-18T" + utc + ":00Z",
		})
	}
	reads(t, noon, map[string]string{"3pm (one two three four five six seven eight nine ten eleven) on Nov 18": "2026-11-15T15:00:00Z"})
}

// "am" before a day is not a half of it.
func TestGermanNoonIsNotMidnight(t *testing.T) {
	reads(t, noon, map[string]string{
		"um 12 Uhr am Montag":                        "2026-11-16T12:00:00Z",
		"am Montag um 12 Uhr":                        "2026-11-16T12:00:00Z",
		"wird um 12:00 Uhr am 18. November erneuert": "2026-11-18T12:00:00Z",
		"um 12:00 Uhr (America/New_York)":            "2026-11-15T17:00:00Z",
		"12 am":                                      "2026-11-16T00:00:00Z",
	})
}

func TestAZoneMayFollowTheTime(t *testing.T) {
	for time, utc := range map[string]string{
		"noon": "20:00", "midnight": "08:00", "3pm": "23:00", "3 p.m.": "23:00", "3:07 p.m.": "23:07", "15:30:00": "23:30", "3:07 a.m.": "11:07", "下午3点30分": "23:30", "à 15h00": "23:00",
	} {
		for _, zone := range []string{" PST", " (PST)", ", Pacific Time", " (America/Los_Angeles)", " UTC-8"} {
			reads(t, noon, map[string]string{"Nov 18, " + time + zone: "2026-11-18T" + utc + ":00Z"})
		}
	}
}

// A message may be cut anywhere.
func TestATextThatEndsInTheMiddleOfATime(t *testing.T) {
	reads(t, noon, map[string]string{
		"resets at 15:":               "",
		"resets at 3 p":               "",
		"resets at 3 a":               "",
		"resets on 5":                 "",
		"resets on 05/":               "",
		"resets Nov":                  "",
		"resets Nov.":                 "",
		"resets Nov 18, 100":          "2026-11-18T00:00:00Z",
		"resets 2026":                 "",
		"resets 2026-11-16":           "2026-11-16T00:00:00Z",
		"resets at 3pm (":             "2026-11-15T15:00:00Z",
		"resets at 3pm (Europe/Ber":   "2026-11-15T15:00:00Z",
		"resets at 3pm +":             "2026-11-15T15:00:00Z",
		"try again in two":            "",
		"try again in 2 hours and":    "2026-11-15T14:00:00Z",
		"try again in 2 hours and a":  "2026-11-15T14:00:00Z",
		"try again in half":           "",
		"try again in half an":        "",
		"try again in about":          "",
		"try again через":             "",
		"resets 下午":                   "",
		"resets 下午3点":                 "2026-11-15T15:00:00Z",
		"resets on Sun":               "2026-11-22T00:00:00Z",
		"the limit lifts in 01:30:":   "",
		"usage limit reached|":        "",
		"usage limit reached|1794758": "",
		"reset at|1794758893":         "2026-11-15T16:08:13Z",
		"Retry-After:":                "",
		"30":                          "2026-11-15T12:00:30Z",
	})
}

func TestLengthsOfTime(t *testing.T) {
	reads(t, noon, map[string]string{
		"in a day":                         "2026-11-16T12:00:00Z",
		"in one min":                       "2026-11-15T12:01:00Z",
		"in two hrs":                       "2026-11-15T14:00:00Z",
		"in 2 and a half hours":            "",
		"in 2 hours and a half":            "2026-11-15T14:30:00Z",
		"через один ч":                     "2026-11-15T13:00:00Z",
		"через час и 5 минут":              "2026-11-15T13:05:00Z",
		"1w 1d 1h 1m 1s 1ms":               "2026-11-23T13:01:01.001Z",
		"1w 1d 1h 1m 1s 1ms 1ms":           "",
		"in 3660 days":                     "2036-11-22T12:00:00Z", // the longest wait
		"in 3660 days and 1 ms":            "",
		"wait for 0 seconds":               "2026-11-15T12:00:00Z",
		"reset 2h30 ago":                   "",
		"reset PT5M ago":                   "",
		"reset half an hour ago":           "",
		"reset 15 minutes earlier":         "",
		"reset через час ago":              "",
		"P2WT1M":                           "2026-11-29T12:01:00Z",
		"2h until the next reset":          "2026-11-15T14:00:00Z",
		"请一分钟后再试":                          "2026-11-15T12:01:00Z",
		"you have 2h until the next reset": "2026-11-15T14:00:00Z",
	})
}

// The words between an announcement and its time are few.
func TestATimeFarBehindItsAnnouncementIsAnother(t *testing.T) {
	reads(t, noon, map[string]string{
		"wait for up to about the next 5 minutes":         "2026-11-15T12:05:00Z",
		"wait for up to about the next the 5 minutes":     "",
		"wait for up to about the next the the 5 minutes": "",
	})
}

func TestDatesAtTheirBounds(t *testing.T) {
	reads(t, noon, map[string]string{
		"resets 12/31/2026":    "2026-12-31T00:00:00Z",
		"resets 31/12/2026":    "2026-12-31T00:00:00Z",
		"resets 12/05/2027":    "2027-12-05T00:00:00Z",
		"resets 2026-12-31":    "2026-12-31T00:00:00Z",
		"resets 2027-01-01":    "2027-01-01T00:00:00Z",
		"resets 31.12.2026":    "2026-12-31T00:00:00Z",
		"resets 12/32/2026":    "",
		"resets 13/13/2026":    "",
		"resets 12月31日":        "2026-12-31T00:00:00Z",
		"resets on 12/31":      "2026-12-31T00:00:00Z",
		"resets on 31/12":      "2026-12-31T00:00:00Z",
		"resets on 12/12":      "2026-12-12T00:00:00Z",
		"resets on 13/13":      "",
		"resets on 32/12":      "",
		"resets on 0/12":       "",
		"resets on 1/12":       "2026-12-01T00:00:00Z",
		"resets on 12/1":       "2026-12-01T00:00:00Z",
		"resets 5/10":          "",
		"resets Dec 31":        "2026-12-31T00:00:00Z",
		"resets Dec 1st":       "2026-12-01T00:00:00Z",
		"resets 31 Dec":        "2026-12-31T00:00:00Z",
		"resets Dec 32":        "",
		"resets Nov 18, 25:00": "", // a clock time, but none that there is
		"resets Nov 18 25:00":  "",
		"resets Nov 15":        "", // today
		"resets Nov 15, 2027":  "2027-11-15T00:00:00Z",
		"resets Sat":           "2026-11-21T00:00:00Z",
		"resets Sun":           "2026-11-22T00:00:00Z",
	})
}

func TestYearsAtTheirBounds(t *testing.T) {
	reads(t, noon, map[string]string{
		"11/18/00 3pm":         "2000-11-18T15:00:00Z",
		"11/18/99 3pm":         "2099-11-18T15:00:00Z",
		"0100-11-18":           "",
		"1999-12-31 3pm":       "",
		"2000-01-01 3pm":       "2000-01-01T15:00:00Z",
		"2199-12-31 3pm":       "2199-12-31T15:00:00Z",
		"2200-01-01 3pm":       "",
		"Nov 18, 2000, 3pm":    "2000-11-18T15:00:00Z",
		"Nov 18, 2199, 3pm":    "2199-11-18T15:00:00Z",
		"1999-12-31T23:59:59Z": "",
		"2000-01-01T00:00:00Z": "2000-01-01T00:00:00Z",
		"2199-12-31T23:59:59Z": "2199-12-31T23:59:59Z",
		"2200-01-01T00:00:00Z": "",
	})
}

// Before the turn of a century that has no leap day, the next one is eight years ahead.
func TestTheNextLeapDay(t *testing.T) {
	reads(t, printed(t, "2096-05-01T00:00:00Z"), map[string]string{"resets Feb 29": "2104-02-29T00:00:00Z"})
}

func TestWordsOfAnUnknownHourStateOnlyWhatHasAYear(t *testing.T) {
	reads(t, Reader{Zone: time.UTC}, map[string]string{
		"in 5m": "", "3pm": "", "Nov 18, 3am": "", "Monday": "",
		"Nov 18, 2027, 3am": "2027-11-18T03:00:00Z", "2027-11-18": "2027-11-18T00:00:00Z",
	})
}

func TestEpochsAtTheirBounds(t *testing.T) {
	for n, want := range map[int64]string{
		-1:            "",
		0:             "",
		3600:          "",
		999999999:     "",
		1000000000:    "2001-09-09T01:46:40Z",
		4102444799:    "2099-12-31T23:59:59Z",
		4102444800:    "",
		999999999999:  "",
		1000000000000: "2001-09-09T01:46:40Z",
		4102444799999: "2099-12-31T23:59:59.999Z",
		4102444800000: "",
		1e15:          "",
	} {
		at, ok := Epoch(n)
		require.Equal(t, want != "", ok, n)
		if ok {
			require.Equal(t, want, at.Format(time.RFC3339Nano))
		}
	}
	at, ok := Epoch(1794708893.5)
	require.True(t, ok)
	require.Equal(t, "2026-11-15T02:14:53.5Z", at.UTC().Format(time.RFC3339Nano))
}

// A field with a unit holds a length, unless it may hold either.
func TestANumberInAFieldIsALengthOrAnEpoch(t *testing.T) {
	for _, c := range []struct {
		value string
		unit  time.Duration
		mixed bool
		want  string
	}{
		{"1794708893", 0, false, "2026-11-15T02:14:53Z"},
		{"1794708893", time.Second, true, "2026-11-15T02:14:53Z"},
		{"1794708893", time.Second, false, ""},
		{"1794708893", time.Millisecond, false, "2026-12-06T06:31:48.893Z"},
		{"90", time.Second, false, "2026-11-15T12:01:30Z"},
		{"90", 0, false, ""},
		{"1m30s", time.Second, true, "2026-11-15T12:01:30Z"},
		{"1m30s", time.Second, false, ""},
		{"88µs", time.Second, true, "2026-11-15T12:00:00.000088Z"},
		{".5s", time.Second, true, "2026-11-15T12:00:00.5Z"},
		{"1794708893.5", 0, false, "2026-11-15T02:14:53.5Z"},
		{"-1m30s", time.Second, true, ""},
		{"Sun, 15 Nov 2026 14:01:33 GMT", 0, false, "2026-11-15T14:01:33Z"},
		{"Sun, 15 Nov 2026", 0, false, ""},
	} {
		got, ok := noon.Value(c.value, c.unit, c.mixed)
		require.Equal(t, c.want != "", ok, c)
		if ok {
			require.Equal(t, c.want, got.At.UTC().Format(time.RFC3339Nano))
		}
	}
}

// A date in numbers whose day and month may be either is the one that is near: today is nearer than next month.
func TestADateOfTodayIsNotTakenForOneOfNextMonth(t *testing.T) {
	reads(t, printed(t, "2026-11-12T12:00:00Z"), map[string]string{
		"on 11/12 at 3pm":    "2026-11-12T15:00:00Z",
		"11/12/2026, 3pm":    "2026-11-12T15:00:00Z",
		"12/11/2026, 3pm":    "2026-12-11T15:00:00Z",
		"on 11/11 at 11pm":   "2026-11-11T23:00:00Z",
		"on 11/10 at 3pm":    "2026-11-10T15:00:00Z",
		"resets on 13/11":    "2026-11-13T00:00:00Z",
		"resets 10/11/2026":  "2026-11-10T00:00:00Z",
		"resets 10/12/2026":  "2026-12-10T00:00:00Z",
		"resets 2026-11-12":  "",
		"resets 12 November": "",
	})
}

// A name that begins or ends like a day of the week is none.
func TestADayOfTheWeekIsAWordOfItsOwn(t *testing.T) {
	reads(t, noon, map[string]string{
		"retry on SunOS":    "",
		"retry with theSun": "",
		"retry on theSun":   "",
		"retry on MonKey":   "",
		"retry on Mon":      "2026-11-16T00:00:00Z",
		"周一重置":              "2026-11-16T00:00:00Z",
		"retry 星期一の":        "2026-11-16T00:00:00Z",
	})
}

// Only a time that is stated to the second, with its day and its zone, is not rounded.
func TestATimeToTheSecondIsNotRough(t *testing.T) {
	for text, rough := range map[string]bool{
		"2026-11-18 15:00:00 UTC": false,
		"2026-11-18 15:00:30 UTC": false,
		"2026-11-18 15:00 UTC":    true,
		"2026-11-18 15:00:00":     true,
		"Nov 18, 15:00:00 UTC":    true,
		"2026-11-18T15:00:00Z":    false,
		"2026-11-18T15:00Z":       true,
	} {
		got, ok := noon.When(text)
		require.True(t, ok, text)
		require.Equal(t, rough, got.Rough, text)
	}
}

// The end of the limit counts before the advice to try again, and neither what has been nor the end of something else counts.
func TestWhichOfSeveralTimesIsMeant(t *testing.T) {
	reads(t, noon, map[string]string{
		"try again in 5 minutes, the limit resets at 3pm":            "2026-11-15T15:00:00Z",
		"the limit resets at 3pm, the next one resets at 8pm":        "2026-11-15T15:00:00Z",
		"last reset at 11:00, try again in 5 minutes":                "2026-11-15T12:05:00Z",
		"your plan is valid until Dec 1, the limit resets at 3pm":    "2026-11-15T15:00:00Z",
		"the plan was renewed on Nov 1, the limit resets at 3pm":     "2026-11-15T15:00:00Z",
		"the last retry was at 11:30, the previous reset at 9am UTC": "",
		"use it tomorrow until the reset":                            "",
		"2 hours until the reset":                                    "2026-11-15T14:00:00Z",
	})
}

func TestATimeEndsWithItsLastWord(t *testing.T) {
	for _, time := range []string{
		"5m", "2h30", "half an hour", "an hour and a half", "PT5M", "1794708893", "2026-11-15T15:00:00Z", "noon", "midnight", "3pm", "3 p.m", "15:30:00", "15 Uhr", "下午3点30分",
		"Nov 18", "Nov 18th", "18 Nov", "18 de Nov", "2026-11-18", "11/18/2026", "18.11.2026", "2026年11月18日", "tomorrow", "Monday", "Nov 18, 2027",
		"3pm UTC", "3pm (UTC)", "3pm PST", "3pm Pacific Time", "3pm local time", "3pm Europe/Berlin", "3pm +02:00",
	} {
		for _, before := range []string{"", "in the "} {
			got, ok := noon.When(before + time + " then")
			require.True(t, ok, time)
			require.Len(t, token.Cut(before+time), got.End, time)
		}
	}
}

func TestZonesByTheirNames(t *testing.T) {
	for name, seconds := range map[string]int{
		"UTC": 0, "Z": 0, "PST": -8 * 3600, "+02:00": 2 * 3600, "-5": -5 * 3600, "+0530": 19800, "−03:30": -12600, "UTC+5": 5 * 3600,
		"+14:00": 14 * 3600, "-13:59": -(13*3600 + 59*60), "Asia/Tokyo": 9 * 3600, "asia/tokyo": 9 * 3600, "Etc/GMT+5": -5 * 3600,
	} {
		zone, ok := Zone(name)
		require.True(t, ok, name)
		_, got := noon.At.In(zone).Zone()
		require.Equal(t, seconds, got, name)
	}
	for _, name := range []string{
		"", " ", "local", "your", "Mars/Olympus_Mons", "PST or so", "UTC and more", "+15:00", "+05:60", "+055", "+02:000", "-", "somewhere", "Tokyo", "Japan", "(UTC)",
		"Europe/" + strings.Repeat("a", 99),
	} {
		_, ok := Zone(name)
		require.False(t, ok, name)
	}
}
