package when

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	return at
}

func TestWhenReadsBareTimes(t *testing.T) {
	// A Sunday noon in Berlin.
	r := Reader{At: instant(t, "2026-11-15T11:00:00Z"), Zone: zone(t, "Europe/Berlin"), Grace: 30 * time.Minute}
	for name, c := range map[string]struct {
		in, want string
		rough    bool
	}{
		"seconds":                        {"2s", "2026-11-15T11:00:02Z", false},
		"minutes":                        {"5m", "2026-11-15T11:05:00Z", false},
		"milliseconds":                   {"1500ms", "2026-11-15T11:00:01.5Z", false},
		"a fraction":                     {"1.2s", "2026-11-15T11:00:01.2Z", false},
		"units run together":             {"2h5m", "2026-11-15T13:05:00Z", false},
		"days run together":              {"5d22h11m", "2026-11-21T09:11:00Z", false},
		"an ISO duration":                {"PT5M", "2026-11-15T11:05:00Z", false},
		"ISO hours and minutes":          {"in PT1H30M", "2026-11-15T12:30:00Z", false},
		"ISO days and hours":             {"P1DT2H", "2026-11-16T13:00:00Z", false},
		"ISO weeks":                      {"P2W", "2026-11-29T11:00:00Z", false},
		"an ISO fraction":                {"PT36.5S", "2026-11-15T11:00:36.5Z", false},
		"ISO in a sentence":              {"retry after PT5M.", "2026-11-15T11:05:00Z", false},
		"units in words":                 {"in 3 days 4 hours", "2026-11-18T15:00:00Z", false},
		"joined by and and commas":       {"1 hour, 2 minutes and 3 seconds", "2026-11-15T12:02:03Z", false},
		"weeks":                          {"2 weeks", "2026-11-29T11:00:00Z", false},
		"an hour":                        {"in an hour", "2026-11-15T12:00:00Z", false},
		"a countdown":                    {"in 01:30:00", "2026-11-15T12:30:00Z", false},
		"a clock after which":            {"after 15:30:00", "2026-11-15T14:30:00Z", true},
		"a clock with seconds":           {"15:30:00", "2026-11-15T14:30:00Z", true},
		"a slashed date, year first":     {"2026/11/16 05:49", "2026-11-16T04:49:00Z", true},
		"a number alone is seconds":      {"90", "2026-11-15T11:01:30Z", false},
		"RFC 3339":                       {"2026-11-15T15:00:00Z", "2026-11-15T15:00:00Z", false},
		"RFC 3339 with an offset":        {"2026-11-15T15:00:00.25+02:00", "2026-11-15T13:00:00.25Z", false},
		"a date-time with a blank":       {"2026-11-15 15:04", "2026-11-15T14:04:00Z", true},
		"a date-time without a zone":     {"2026-11-15T15:00:00", "2026-11-15T14:00:00Z", false},
		"epoch seconds":                  {"1794708893", "2026-11-15T02:14:53Z", false},
		"epoch milliseconds":             {"1794708893250", "2026-11-15T02:14:53.25Z", false},
		"an HTTP date":                   {"Sun, 15 Nov 2026 14:01:33 GMT", "2026-11-15T14:01:33Z", false},
		"a clock of 24 hours":            {"15:00", "2026-11-15T14:00:00Z", true},
		"a clock of 12 hours":            {"3pm", "2026-11-15T14:00:00Z", true},
		"a spaced half":                  {"3:07 PM", "2026-11-15T14:07:00Z", true},
		"a dotted half":                  {"3:07 p.m.", "2026-11-15T14:07:00Z", true},
		"twelve at night":                {"12am", "2026-11-15T23:00:00Z", true},
		"twelve at noon":                 {"12pm", "2026-11-15T11:00:00Z", true},
		"midnight":                       {"midnight", "2026-11-15T23:00:00Z", true},
		"24:00":                          {"24:00", "2026-11-15T23:00:00Z", true},
		"a needless half":                {"13:40pm", "2026-11-15T12:40:00Z", true},
		"a named zone":                   {"3pm (America/New_York)", "2026-11-15T20:00:00Z", true},
		"a zone in small letters":        {"3pm (america/new_york)", "2026-11-15T20:00:00Z", true},
		"an obsolete zone":               {"5pm (Europe/Kiev)", "2026-11-15T15:00:00Z", true},
		"POSIX signs count westward":     {"3pm (Etc/GMT+5)", "2026-11-15T20:00:00Z", true},
		"UTC signs count eastward":       {"3pm (UTC+5)", "2026-11-16T10:00:00Z", true},
		"an offset with minutes":         {"15:00 GMT-03:30", "2026-11-15T18:30:00Z", true},
		"a bare offset":                  {"15:00 +0530", "2026-11-16T09:30:00Z", true},
		"an abbreviation":                {"3pm PST", "2026-11-15T23:00:00Z", true},
		"a place for a zone":             {"midnight Pacific Time", "2026-11-16T08:00:00Z", true},
		"local by name":                  {"3pm local time", "2026-11-15T14:00:00Z", true},
		"an unknown zone is local":       {"3pm (Mars/Olympus_Mons)", "2026-11-15T14:00:00Z", true},
		"an unknown word is local":       {"3pm (somewhere)", "2026-11-15T14:00:00Z", true},
		"a zone cut short is local":      {"3pm (Europe/Ber", "2026-11-15T14:00:00Z", true},
		"a month and a day":              {"Nov 18, 3:13am (UTC)", "2026-11-18T03:13:00Z", true},
		"a month and a day with at":      {"Nov 18 at 3am", "2026-11-18T02:00:00Z", true},
		"a year":                         {"Dec 20, 2027, 12:14am (UTC)", "2027-12-20T00:14:00Z", true},
		"an ordinal":                     {"Feb 23rd, 2027 1:07 AM", "2027-02-23T00:07:00Z", true},
		"the day first":                  {"18 November 2026 at 15:00", "2026-11-18T14:00:00Z", true},
		"the clock first":                {"4:00 AM Friday Nov 20", "2026-11-20T03:00:00Z", true},
		"a slashed date, month first":    {"11/17/2026", "2026-11-16T23:00:00Z", true},
		"a slashed date that cannot be":  {"17/11/2026", "2026-11-16T23:00:00Z", true},
		"a slashed date and a clock":     {"1/5/2027, 3:51:11 PM", "2027-01-05T14:51:11Z", true},
		"a slashed day of this year":     {"on 12/01", "2026-11-30T23:00:00Z", true},
		"a dashed date":                  {"2026-12-01 at 00:00 UTC", "2026-12-01T00:00:00Z", true},
		"another language":               {"10 de jul. de 2027, 11:52", "2027-07-10T09:52:00Z", true},
		"tomorrow":                       {"tomorrow at 9am", "2026-11-16T08:00:00Z", true},
		"today, though past":             {"today at 9am", "2026-11-15T08:00:00Z", true},
		"a weekday":                      {"Monday", "2026-11-15T23:00:00Z", true},
		"a weekday that lifts it":        {"resets Monday", "2026-11-15T23:00:00Z", true},
		"a weekday, in bad English":      {"resets in Tue 00:00", "2026-11-16T23:00:00Z", true},
		"a weekday with a clock":         {"Tue 00:00", "2026-11-16T23:00:00Z", true},
		"the same weekday later":         {"Sunday at 3pm", "2026-11-15T14:00:00Z", true},
		"the same weekday earlier":       {"Sunday at 9am", "2026-11-22T08:00:00Z", true},
		"just past means past":           {"11:45", "2026-11-15T10:45:00Z", true},
		"long past means tomorrow":       {"11:15", "2026-11-16T10:15:00Z", true},
		"yesterday's date means past":    {"Nov 14, 3am", "2026-11-14T02:00:00Z", true},
		"a date of long ago: next year":  {"Mar 3, 3am", "2027-03-03T02:00:00Z", true},
		"over the end of the year":       {"Jan 2 at 1am", "2027-01-02T00:00:00Z", true},
		"a leap day":                     {"Feb 29 at 1am", "2028-02-29T00:00:00Z", true},
		"words before it":                {"resets at 3pm", "2026-11-15T14:00:00Z", true},
		"a Retry-After among words":      {"Retry-After: 30", "2026-11-15T11:00:30Z", false},
		"no-break and thin spaces":       {"3:07\u202fPM", "2026-11-15T14:07:00Z", true},
		"an offset that is none is left": {"15:00 +99", "2026-11-15T14:00:00Z", true},
		"a typographic minus":            {"15:00 UTC−03:30", "2026-11-15T18:30:00Z", true},
		"hours that run into minutes":    {"in 2h30", "2026-11-15T13:30:00Z", false},
		"half of an hour":                {"in half an hour", "2026-11-15T11:30:00Z", false},
		"an hour and its half":           {"in an hour and a half", "2026-11-15T12:30:00Z", false},
		"a number in words":              {"in two hours", "2026-11-15T13:00:00Z", false},
		"no more than":                   {"in less than a minute", "2026-11-15T11:01:00Z", false},
		"about a week":                   {"in ~1 week", "2026-11-22T11:00:00Z", false},
		"day by day":                     {"resets daily at midnight UTC", "2026-11-16T00:00:00Z", true},
		"the anchor behind its time":     {"2h 13m until the next reset", "2026-11-15T13:13:00Z", false},
		"a dotted date":                  {"01.12.2026 um 09:00", "2026-12-01T08:00:00Z", true},
		"German, the verb at its end":    {"wird um 15:00 Uhr zurückgesetzt", "2026-11-15T14:00:00Z", true},
		"German, a bare hour":            {"um 15 Uhr", "2026-11-15T14:00:00Z", true},
		"German, a length":               {"in 2 Stunden und 5 Minuten erneut", "2026-11-15T13:05:00Z", false},
		"French":                         {"réessayez dans une heure", "2026-11-15T12:00:00Z", false},
		"French, an hour of the day":     {"réinitialisation à 15h30", "2026-11-15T14:30:00Z", true},
		"Spanish":                        {"se restablece a las 15:00", "2026-11-15T14:00:00Z", true},
		"Portuguese":                     {"tente novamente em 2 horas e 10 minutos", "2026-11-15T13:10:00Z", false},
		"Russian":                        {"повторите попытку через 2 часа", "2026-11-15T13:00:00Z", false},
		"Russian, without a number":      {"попробуйте через час", "2026-11-15T12:00:00Z", false},
		"Chinese":                        {"请15分钟后再试", "2026-11-15T11:15:00Z", false},
		"Chinese, a date":                {"2026年11月18日 15:00", "2026-11-18T14:00:00Z", true},
		"Chinese, half of a day":         {"下午3点30分", "2026-11-15T14:30:00Z", true},
		"Chinese, a wide colon":          {"下午3：30", "2026-11-15T14:30:00Z", true},
		"a zone glued to pm":             {"11:59pmUTC", "2026-11-15T23:59:00Z", true},
		"Chinese, tomorrow":              {"将于明天 9:00 重置", "2026-11-16T08:00:00Z", true},
		"Japanese":                       {"2時間30分後に再試行", "2026-11-15T13:30:00Z", false},
		"Japanese, an hour of the day":   {"15時にリセットされます", "2026-11-15T14:00:00Z", true},
		"Japanese, days":                 {"3日後", "2026-11-18T11:00:00Z", false},
		"Korean":                         {"2시간 후에 다시", "2026-11-15T13:00:00Z", false},
		"Korean, half of a day":          {"오후 3시에 재설정", "2026-11-15T14:00:00Z", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := r.When(c.in)
			require.True(t, ok, "not read")
			require.WithinDuration(t, instant(t, c.want), got.At, 0)
			require.Equal(t, c.rough, got.Rough)
		})
	}
}

func TestWhenInventsNothing(t *testing.T) {
	r := Reader{At: instant(t, "2026-11-15T11:00:00Z"), Zone: time.UTC}
	for _, in := range []string{
		"", " ", "soon", "later", "in a moment", "a few minutes", "3", "attempt 4/10", "2.1.325", "25:00", "3:7pm",
		"13:61", "Feb 30", "0/0/2026", "every 5h", "May", "99999999999999999999", "9999999d", "the", "pm", "Feb 30, 2027",
		"PT", "P", "P5", "P1DT", "P3M", "P1Y", "PT5X", "PT5M3", "pt5m", "PT1..5S", "P99999999D", "PT-5M", "PTM", "P5H",
		"in -5 seconds", "in 1000000000000000000000000000000 seconds", "1e30 seconds", "24:30", "25時", "15日", "13月40日", "in half", "half a lot",
		"reset 3 hours ago", "last reset: 10:00", "was reset at 10:00", "5 minutes earlier", "через", "下午", "32.12.2026", "01.13.2026", "à 25h", "every 5 hours",
		"1s 2s 3s 4s 5s 6s 7s", "in a h", "retry A d", "A.mA", "in one m", "an s",
		"in Wed", "retry in Wed", "try again in Sat mode", "resets within Sunday", "dans mercredi",
	} {
		if in == "3" {
			continue // a count of seconds, by contract
		}
		got, ok := r.When(in)
		require.False(t, ok, "%q was read as %v", in, got.At)
	}
}

func TestWhenWithoutATimeOfPrintingReadsOnlyWhatIsAbsolute(t *testing.T) {
	for in, absolute := range map[string]bool{
		"5m": false, "3pm": false, "Nov 18, 3am": false, "30": false,
		"2026-11-15T15:00:00Z": true, "1794708893": true, "Dec 20, 2027, 12:14am (UTC)": true,
	} {
		_, ok := Reader{}.When(in)
		require.Equal(t, absolute, ok, in)
	}
}

func TestClocksThatChange(t *testing.T) {
	for name, c := range map[string]struct{ at, in, want string }{
		"a skipped time counts on from before":    {"2026-03-08T05:00:00Z", "2:30am (America/New_York)", "2026-03-08T07:30:00Z"},
		"a repeated time is the first of both":    {"2026-11-01T03:00:00Z", "1:30am (America/New_York)", "2026-11-01T05:30:00Z"},
		"of both, the one that has just passed":   {"2026-11-01T05:40:00Z", "1:30am (America/New_York)", "2026-11-01T05:30:00Z"},
		"on its date, the first of both":          {"2026-10-20T12:00:00Z", "Nov 1 at 1:30am (America/New_York)", "2026-11-01T05:30:00Z"},
		"the second where the first is past":      {"2026-11-01T05:55:00Z", "1:30am (America/New_York)", "2026-11-01T06:30:00Z"},
		"the day after the clocks went forward":   {"2026-03-29T10:00:00Z", "10am (Europe/London)", "2026-03-30T09:00:00Z"},
		"a half-hour change":                      {"2026-10-03T12:00:00Z", "2:15am (Australia/Lord_Howe)", "2026-10-03T15:45:00Z"},
		"midnight that is skipped":                {"2026-09-05T20:00:00Z", "midnight (America/Santiago)", "2026-09-06T04:00:00Z"},
		"a date across the change":                {"2026-03-01T10:00:00Z", "Mar 10 at 12pm (America/New_York)", "2026-03-10T16:00:00Z"},
		"tomorrow there, today here":              {"2026-11-15T16:00:00Z", "1:50am (Asia/Tokyo)", "2026-11-15T16:50:00Z"},
		"yesterday there, within the grace":       {"2026-11-15T00:05:00Z", "11:50pm (UTC)", "2026-11-14T23:50:00Z"},
		"the last minute of the year":             {"2026-12-31T23:59:30Z", "12am (UTC)", "2027-01-01T00:00:00Z"},
		"a year without the leap day it is after": {"2096-03-10T00:00:00Z", "Feb 29 (UTC)", "2096-02-29T00:00:00Z"},
		"across a centenary without a leap day":   {"2096-05-01T00:00:00Z", "Feb 29 (UTC)", "2104-02-29T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reader{At: instant(t, c.at), Zone: time.UTC, Grace: 20 * time.Minute}
			got, ok := r.When(c.in)
			require.True(t, ok)
			require.WithinDuration(t, instant(t, c.want), got.At, 0)
		})
	}
}

func TestAReaderWithoutAZoneReadsLocalTime(t *testing.T) {
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	got, ok := Reader{At: at}.When("3pm")
	require.True(t, ok)
	require.True(t, time.Date(2026, 11, 15, 15, 0, 0, 0, time.Local).Equal(got.At))
}

// A time that is only partly understood does not count.
func TestTimesInPart(t *testing.T) {
	reads(t, noon, map[string]string{
		"resets 2026-11-15T22:00:00.000+0000": "2026-11-15T22:00:00Z",
		"resets 2026-11-16T22:00+0100":        "",
		"resets 2026-11-16T22h":               "",
		"resets 2026-11-15":                   "", // the time of day is not stated
		"resets 2026-11-16":                   "2026-11-16T00:00:00Z",
		"resets 05/12/2026":                   "2026-12-05T00:00:00Z",
		"resets 12/05/2026":                   "2026-12-05T00:00:00Z",
		"resets on 01/12":                     "2026-12-01T00:00:00Z",
		"resets on 12/01":                     "2026-12-01T00:00:00Z",
		"resets in 4:30":                      "",
		"resets in 04:30:00":                  "2026-11-15T16:30:00Z",
		"resets 9999-12-31T23:59:59Z":         "",
		"resets 1970-01-01T00:00:00Z":         "",
	})
}
