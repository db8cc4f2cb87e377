package deliver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	transcript   string // gets a prompt when the text is sent; empty: none
	screens      count
}

// inField returns a world whose session is open in such a terminal.
func inField(t *testing.T, f *field) *world {
	w := newWorld(t)
	w.d.machine = f
	w.agent.owner = &resume.Owner{PID: 42, Kind: resume.Interactive}
	w.agent.talk.Type = &agent.Typing{Text: "continue", Judge: func(screen string) agent.ScreenState { return agent.ScreenState{Draft: screen} }}
	return w
}

func (f *field) Pane(context.Context, resume.Process) (Pane, error) { return f, nil }
func (f *field) String() string                                     { return "a field" }
func (f *field) Quiet(context.Context) error                        { return nil }

func (f *field) Screen(context.Context) (string, error) {
	f.screens.add()
	return f.text, nil
}

func (f *field) Type(_ context.Context, text string) error {
	f.text = text + f.behind
	return nil
}

func (f *field) Press(context.Context, terminal.Key) error {
	f.sent, f.text = append(f.sent, f.text), ""
	if f.transcript == "" {
		return nil
	}
	return os.WriteFile(f.transcript, []byte("limit\nprompt\n"), 0o600)
}

func (f *field) TakeBack(_ context.Context, text string) error {
	f.taken, f.text = append(f.taken, text), f.behind
	return nil
}

// A prompt with words of a person behind it is not sent, and only the prompt is taken back.
func TestAPromptWithWordsBehindItIsNotSent(t *testing.T) {
	for _, behind := range []string{"x", " please", "continue"} {
		synctest.Test(t, func(t *testing.T) {
			f := &field{behind: behind}
			got := inField(t, f).act()
			require.Equal(t, "not sent: somebody began to type at the same time: what resumed had typed was taken back", last(got))
			require.Empty(t, f.sent)
			require.Equal(t, []string{"continue"}, f.taken)
			require.Equal(t, behind, f.text)
		})
	}
}

// A screen that is not recognised may be recognised a moment later: nothing is reported before the
// third look. That screen is stored.
func TestAScreenThatIsNotKnownIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(field)
		w := inField(t, f)
		f.transcript = w.session.Transcript
		known := w.agent.talk.Type.Judge
		w.agent.talk.Type.Judge = func(string) agent.ScreenState {
			return agent.ScreenState{Strange: true, Skip: &agent.Skip{Why: "its screen is not known", Park: true}}
		}
		kept := filepath.Join(w.d.opts.StateDir, "runs", "s-1", "screen.txt")
		why := "its screen is not known; it is kept in " + kept
		first := fmt.Sprintf("not sent: %s; resumed looks again before it tells you (look 1 of 3)", why)
		second := strings.Replace(first, "1 of", "2 of", 1)
		require.Equal(t, []string{first}, w.act())
		require.Equal(t, []string{first, second}, w.actAgain())
		require.Equal(t, []string{first, second, fmt.Sprintf("parked: %s: %s", openIn(*w.agent.owner), why)}, w.actAgain())
		require.FileExists(t, kept)
		require.Equal(t, "limit\n", w.transcript())

		require.Equal(t, first, last(w.actAgain()), "the next time it is looked at three times again")
		w.agent.talk.Type.Judge = known
		require.Equal(t, "delivered", last(w.actAgain()), "and it is typed as soon as the screen is known")
		require.Equal(t, "limit\nprompt\n", w.transcript())
	})
}

// A person may be about to send a draft: one that is still there at the third look is reported, and stays so until it is
// gone.
func TestADraftThatNobodySendsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &field{text: "wait, I"}
		w := inField(t, f)
		f.transcript = w.session.Transcript
		draft := "not sent: there is a draft in its input field that nobody sent; resumed looks again before it tells you (look %d of 3)"
		told := fmt.Sprintf("not sent: open in its terminal: send it or clear it there, and the prompt is typed; resumed cannot type there (process %d): "+
			"there is a draft in its input field that nobody sent", w.agent.owner.PID)
		require.Equal(t, fmt.Sprintf(draft, 1), last(w.act()))
		require.Equal(t, fmt.Sprintf(draft, 2), last(w.actAgain()))
		f.text = "wait, I want"
		require.Equal(t, fmt.Sprintf(draft, 1), last(w.actAgain()), "a person is at it")
		require.Equal(t, fmt.Sprintf(draft, 2), last(w.actAgain()))
		require.Empty(t, w.now().Unreached)
		for range 3 {
			require.Equal(t, told, last(w.actAgain()))
			now := w.now()
			require.Equal(t, now.Unreached, strings.TrimPrefix(told, "not sent: "))
			why, known := w.d.unreached(t.Context(), w.agent, now, *w.agent.owner, w.d.opts.Settings())
			require.True(t, known)
			require.Equal(t, now.Unreached, why, "a look at its process does not take it back")
		}
		require.Empty(t, f.sent)

		f.text = ""
		require.Equal(t, "delivered", last(w.actAgain()), "as soon as it is gone")
	})
}

func last(events []string) string { return events[len(events)-1] }

// If the screen does not show the text as it was typed, it is not sent.
func TestWhatIsNotShownAsItWasTypedIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(field)
		w := inField(t, f)
		w.agent.talk.Type.Judge = func(string) agent.ScreenState { return agent.ScreenState{} }
		got := w.act()
		require.Len(t, got, 2)
		require.Contains(t, got[1], "is not what was typed")
		require.Contains(t, got[1], "Enter was not pressed")
		kept := filepath.Join(w.d.opts.StateDir, "runs", "s-1", "screen.txt")
		require.Contains(t, got[1], "it is kept in "+kept)
		require.FileExists(t, kept)
		require.Equal(t, "limit\n", w.transcript())
		require.Empty(t, f.sent)
	})
}

// covered is a field behind a menu, which Escape closes.
type covered struct {
	field
	menu    bool
	stays   bool   // it does not close
	below   string // what is in the field when it is closed
	refuses error  // to press Escape
}

func (c *covered) Pane(context.Context, resume.Process) (Pane, error) { return c, nil }

func (c *covered) Screen(context.Context) (string, error) {
	if c.menu {
		return "menu", nil
	}
	return c.text, nil
}

func (c *covered) Press(ctx context.Context, key terminal.Key) error {
	if key != terminal.Escape {
		return c.field.Press(ctx, key)
	}
	if c.refuses == nil {
		c.menu, c.text = c.stays, c.below
	}
	return c.refuses
}

// The menu of a limit is closed before the prompt is typed. What it does not give way to is left to a person.
func TestAMenuIsClosedBeforeAPromptIsTyped(t *testing.T) {
	const inUse = "not sent: somebody was at its keyboard just now"
	for name, c := range map[string]struct {
		screen covered
		want   string
		sent   []string
	}{
		"it closes":                   {covered{}, "delivered", []string{"continue"}},
		"a person is at the keyboard": {covered{refuses: terminal.ErrInUse}, inUse, nil},
		"it does not close": {
			covered{stays: true}, "parked: open in its terminal (process 42): the limit's menu did not close to an empty input field; Enter was not pressed", nil,
		},
		"a person has written below it": {covered{below: "please"}, inUse, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &c.screen
				f.menu = true
				w := inField(t, &f.field)
				w.d.machine, f.transcript = f, w.session.Transcript
				w.agent.talk.Type.Judge = func(screen string) agent.ScreenState {
					if screen == "menu" {
						return agent.ScreenState{Menu: true}
					}
					return agent.ScreenState{Draft: screen}
				}
				require.Equal(t, []string{"may have been handed over", c.want}, w.act())
				require.Equal(t, c.sent, f.sent)
				require.Empty(t, f.taken)
			})
		})
	}
}

// changing is a field whose screen changes with each read.
type changing struct {
	field
	reads []time.Time
	shows func(n int) (screen string, changed bool) // of the n-th read
}

func (c *changing) Pane(context.Context, resume.Process) (Pane, error) { return c, nil }

func (c *changing) Screen(ctx context.Context) (string, error) {
	c.reads = append(c.reads, time.Now())
	text, err := c.field.Screen(ctx)
	if screen, changed := c.shows(len(c.reads)); changed {
		text = screen
	}
	return text, err
}

// Before anything is typed, the screen is read until the program has drawn it, and once more: a person may begin to type.
func TestAScreenIsReadUntilItIsDrawnAndDoesNotChange(t *testing.T) {
	const inUse = "not sent: somebody was at its keyboard just now"
	until := func(last int, screen string) func(int) (string, bool) {
		return func(n int) (string, bool) { return screen, n <= last }
	}
	from := func(first int, screen string) func(int) (string, bool) {
		return func(n int) (string, bool) { return screen, n >= first }
	}
	for name, c := range map[string]struct {
		shows func(int) (string, bool)
		want  string
	}{
		"it is drawn late":                   {until(drawLooks-1, "half"), "delivered"},
		"it is drawn too late":               {until(drawLooks, "half"), "look 1 of 3"},
		"a person begins to type":            {from(2, "please"), inUse},
		"a menu opens":                       {from(2, "menu"), inUse},
		"a dialog opens":                     {from(2, "dialog"), "parked: open in its terminal (process 42): it shows a dialog"},
		"a dialog was open":                  {until(1, "dialog"), "parked: open in its terminal (process 42): it shows a dialog"},
		"it is not drawn at the second look": {from(2, "half"), "parked: open in its terminal (process 42): half a screen"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &changing{shows: c.shows}
				w := inField(t, &f.field)
				w.d.machine, f.transcript = f, w.session.Transcript
				w.agent.talk.Type.Judge = func(screen string) agent.ScreenState {
					switch screen {
					case "half":
						return agent.ScreenState{Strange: true, Skip: &agent.Skip{Why: "half a screen", Park: true}}
					case "dialog":
						return agent.ScreenState{Skip: &agent.Skip{Why: "it shows a dialog", Park: true}}
					case "menu":
						return agent.ScreenState{Menu: true}
					default:
						return agent.ScreenState{Draft: screen}
					}
				}
				require.Contains(t, last(w.act()), c.want)
				require.Equal(t, c.want == "delivered", len(f.sent) == 1)
				if c.want == "delivered" {
					require.Equal(t, drawPause, f.reads[1].Sub(f.reads[0]), "a person who begins to type does not wait long")
					require.Equal(t, lookPause, f.reads[drawLooks-1].Sub(f.reads[drawLooks-2]), "a busy machine has time")
				}
			})
		})
	}
}
