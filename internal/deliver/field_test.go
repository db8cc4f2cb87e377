package deliver

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/terminal"
)

// field is a terminal with an input field, in which a person writes behind what is typed.
type field struct {
	here
	text, behind string
	sent, taken  []string
}

func (f *field) Pane(context.Context, resume.Process) (Pane, error) { return f, nil }
func (f *field) String() string                                     { return "a field" }
func (f *field) Screen(context.Context) (string, error)             { return f.text, nil }
func (f *field) Quiet(context.Context) error                        { return nil }

func (f *field) Type(_ context.Context, text string) error {
	f.text = text + f.behind
	return nil
}

func (f *field) Press(context.Context, terminal.Key) error {
	f.sent, f.text = append(f.sent, f.text), ""
	return nil
}

func (f *field) TakeBack(_ context.Context, text string) error {
	f.taken, f.text = append(f.taken, text), f.behind
	return nil
}

// A prompt with words of a person behind it is not sent, and only the prompt is taken back.
func TestAPromptWithWordsBehindItIsNotSent(t *testing.T) {
	for _, behind := range []string{"x", " please", "continue"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			f := &field{behind: behind}
			w.d.machine = f
			w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
			w.agent.talk.Type = &agent.Typing{Text: "continue", Judge: func(screen string) agent.Sight { return agent.Sight{Draft: screen} }}
			got := w.act()
			require.Equal(t, "not sent: somebody began to type at the same time: what resumed had typed was taken back", got[len(got)-1])
			require.Empty(t, f.sent)
			require.Equal(t, []string{"continue"}, f.taken)
			require.Equal(t, behind, f.text)
		})
	}
}
