package humanize_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestHowASessionIsContinuedInWords(t *testing.T) {
	seen := view.Start{Argv: []string{"claude", "--tools", "Read, Grep"}, Seen: true, Env: []string{"HOME", "PATH"}, Sandbox: new("mounts of its own")}
	for name, c := range map[string]struct {
		view view.Session
		want []humanize.Part
	}{
		"nobody saw it": {view.Session{}, []humanize.Part{
			{"Started with", []string{"its command line is not known: the process ended before resumed saw it, or hides it"}, false},
		}},
		"a command": {view.Session{Started: seen, Cwd: "/src", Plan: &view.Plan{
			Command: []string{"claude", "-p", "--tools", "Read, Grep"}, Dir: "/src", Repeated: []string{"--tools", "Read, Grep"},
			LeftOut: []string{"--ide: it needs a terminal", "x: y"}, EnvUnset: []string{"KEY"},
		}}, []humanize.Part{
			{"Started with", []string{"claude --tools 'Read, Grep'", "with the variables HOME, PATH", "in a sandbox: mounts of its own"}, false},
			{"The next resume runs", []string{"claude -p --tools 'Read, Grep'"}, false},
			{"Repeated from its start", []string{"--tools 'Read, Grep'"}, false},
			{"Left out, and why", []string{"--ide: it needs a terminal", "x: y"}, false},
			{"Without those of the daemon", []string{"KEY"}, false},
		}},
		"elsewhere, and not now": {view.Session{Started: seen, Cwd: "/src", Plan: &view.Plan{
			Command: []string{"claude"}, Dir: "/other\x1b[2J", Instead: "it ran in a sandbox",
		}}, []humanize.Part{
			{"Started with", []string{"claude --tools 'Read, Grep'", "with the variables HOME, PATH", "in a sandbox: mounts of its own"}, false},
			{"Nothing would be sent now, because", []string{"it ran in a sandbox"}, true},
			{"Otherwise the next resume would run", []string{"claude", "in /other"}, false},
		}},
		"after a give-up": {view.Session{Name: "4f2a", Agent: "claude-code", ID: "4f2a9c1e", State: resume.GaveUp, Cwd: "/src", Plan: &view.Plan{Command: []string{"claude"}, Dir: "/src"}}, []humanize.Part{
			{"Started with", []string{"its command line is not known: the process ended before resumed saw it, or hides it"}, false},
			{"resumed retry 4f2a9c1e runs", []string{"claude"}, false},
		}},
		"while it is resumed": {view.Session{State: resume.Settling, Plan: &view.Plan{Instead: "a newer prompt was given to the session"}}, []humanize.Part{
			{"Started with", []string{"its command line is not known: the process ended before resumed saw it, or hides it"}, false},
		}},
		"no command": {view.Session{Plan: &view.Plan{Does: "it is typed"}}, []humanize.Part{
			{"Started with", []string{"its command line is not known: the process ended before resumed saw it, or hides it"}, false},
			{"With the next resume", []string{"it is typed"}, false},
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, humanize.Leash(c.view)) })
	}
}
