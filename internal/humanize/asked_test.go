package humanize

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestWhatAPersonIsAskedFor(t *testing.T) {
	for need, want := range map[string]string{"permission": "asks for a permission", "sign_in": "needs you to sign in", "new_thing": "needs new thing", "": ""} {
		s := view.Session{State: resume.Watching, Needs: &need}
		require.Equal(t, want, Asked(s), need)
		require.Equal(t, You, Needs(s), "a person is asked, whatever the state is")
	}
	require.Empty(t, Asked(view.Session{}))
	require.Equal(t, Nothing, Needs(view.Session{State: resume.Watching}))
}

func TestASessionThatIsNotStoppedIsNotAlwaysAtWork(t *testing.T) {
	for reason, want := range map[resume.Why]string{
		resume.WhyWorksAgain: "back at work", resume.WhyWentOn: "back at work", resume.WhyContinued: "back at work",
		resume.WhyCancelled: "cancelled", resume.WhyCleared: "not stopped", "": "not stopped",
	} {
		got, tone := Ended(view.Session{Why: reason})
		require.Equal(t, want, got, reason)
		require.Equal(t, want == "back at work", tone == Good, reason)
	}
}

func TestTheCommandInARemedy(t *testing.T) {
	for text, want := range map[string]string{
		"look at what it said (resumed logs 4f2a)":                    "resumed logs 4f2a",
		"its start was not seen: `resumed retry 4f2a` continues it":   "resumed retry 4f2a",
		"sign in: run `claude auth login`; resumed goes on by itself": "claude auth login",
		"wait until the limit lifts":                                  "",
	} {
		require.Equal(t, want, CommandIn("", text), text)
	}
}
