package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/lines"
	"resumed/internal/resume"
)

// A line that is longer than anybody reads is there in part, and the part may say something else than the whole.
func TestALineThatIsCutSaysNothing(t *testing.T) {
	bot := &Transcripts{Base: NewBase(About{Name: "bot"}, Options{}), Read: func(lines.Line) (resume.Observation, bool) {
		return resume.Observation{Key: resume.Key{ID: "a"}}, true
	}}
	seen, ok := bot.Observe(Source{Account: "bot:default"}, lines.Line{Path: "/t"})
	require.True(t, ok)
	require.Equal(t, resume.Observation{Key: resume.Key{Agent: "bot", ID: "a"}, Account: "bot:default", Transcript: "/t"}, seen)
	_, ok = bot.Observe(Source{Account: "bot:default"}, lines.Line{Path: "/t", Cut: true})
	require.False(t, ok)
}

func TestATimeThatCannotBeIsThatOfTheFile(t *testing.T) {
	file := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for timestamp, believed := range map[string]bool{
		"2026-11-14T23:59:40.123Z":  true,
		"2026-11-15T00:59:40+01:00": true,
		"1970-01-01T00:00:00Z":      true,
		"2199-12-31T23:59:59Z":      true,
		"0001-01-01T00:00:00Z":      false,
		"1969-12-31T23:59:59Z":      false,
		"1970-01-01T00:59:59+01:00": false,
		"2200-01-01T00:00:00Z":      false,
		"9999-12-31T23:59:59Z":      false,
		"yesterday":                 false,
		"":                          false,
	} {
		want := file
		if believed {
			var err error
			want, err = time.Parse(time.RFC3339, timestamp)
			require.NoError(t, err)
		}
		require.Equal(t, want, Written(timestamp, file), timestamp)
	}
}

// A budget is that of an account. Who cannot tell which one it is says nothing, rather than name another.
func TestASessionOfAnotherLoginIsNotIdentified(t *testing.T) {
	login := func(variable func(string) string) string {
		if variable("BOT_API_KEY") != "" {
			return ""
		}
		return variable("BOT_LOGIN")
	}
	bot := &Transcripts{
		Base:  NewBase(About{Name: "bot", Login: login, Keys: []string{"BOT_API_KEY"}}, Options{}),
		Homes: Homes{Roots: []string{"/home/u/.bot"}},
	}
	mine, key := []string{"BOT_LOGIN=me"}, []string{"BOT_LOGIN=me", "BOT_API_KEY=sk-1"}
	began := func(environ []string) resume.Session {
		return resume.Session{Origin: &resume.Origin{EnvSeen: true, Salt: "salt", Login: bot.Login(environ, "salt")}}
	}
	require.Equal(t, "login me", bot.Identity(resume.Session{}, mine), "nobody saw its start")
	require.Equal(t, "login me", bot.Identity(began(mine), mine))
	require.Equal(t, "key sk-1", bot.Identity(began(key), key))
	require.Empty(t, bot.Identity(began([]string{"BOT_LOGIN=somebody"}), mine))
	require.Empty(t, bot.Identity(began(mine), key), "it began with a login, and would go on with a key")
	require.Empty(t, bot.Identity(resume.Session{}, nil), "nobody is signed in")
}
