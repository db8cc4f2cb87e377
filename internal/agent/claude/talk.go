package claude

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/holders"
	"resumed/internal/agent/claude/screen"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
)

// longestTyped: Claude Code treats a longer text as pasted, and hides it.
const longestTyped = 500

// PlanLive types into the terminal, once the process neither works nor will continue by itself.
func (a *Agent) PlanLive(ctx context.Context, s resume.Session, owner resume.Owner, prompt string) (agent.Plan, error) {
	last, plan, still, err := agent.StillStopped(ctx, a, s)
	if !still {
		return plan, err
	}
	if owner.Kind == resume.Headless {
		return agent.Runs(owner), nil
	}
	holder, untold, err := a.Holder(s, owner)
	if err != nil {
		return agent.Plan{}, err
	}
	if untold != nil {
		return agent.Plan{Skip: untold}, nil
	}
	own, err := transcript.LastContinuation(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	reset := s.Limit.Reset
	if e, ok := last.Event.(resume.Limited); ok && e.Reset.Stated() {
		reset = e.Reset
	}
	if until := own.GivenUntil(reset.At, holder.Began(), time.Now()); !until.IsZero() {
		return agent.Plan{Skip: transcript.LeaveUntil(holder.PID, until)}, nil
	}
	if holder.Status == "busy" {
		return agent.SkipPlan(fmt.Sprintf("process %d works on the session", holder.PID)), nil
	}
	if owner.App != "" {
		return agent.Plan{}, nil // it takes prompts from that program alone
	}
	return a.typing(s, holder, prompt), nil
}

func (a *Agent) typing(s resume.Session, holder holders.Holder, prompt string) agent.Plan {
	text := strings.Join(strings.Fields(prompt), " ") // a line break would send the part before it
	if why := cannotBeTyped(text); why != "" {
		return agent.Parked("%s", why)
	}
	process, known := holder.Process()
	if !known {
		return agent.Parked("process %d does not say when it was started", holder.PID)
	}
	asked := false
	return agent.Plan{Type: &agent.Typing{
		Process: process,
		Text:    text,
		Program: "claude",
		Judge: func(text string) agent.ScreenState {
			sight := screen.Read(text).Judge(screen.Process{
				PID: holder.PID, Status: a.Doing(holder), Asked: asked,
				Vim:      func() bool { return a.editsAsVim(holder.Home, s) },
				Commands: func() bool { return transcript.CommandsFollow(context.Background(), s.Transcript) },
			}, s, time.Now())
			asked = asked || sight.Menu
			return sight
		},
	}}
}

// cannotBeTyped returns why: the first character may have a meaning in the composer.
func cannotBeTyped(text string) string {
	switch {
	case text == "":
		return "resume.prompt is empty, so that nothing can be typed"
	case strings.ContainsRune("/!#@&", rune(text[0])):
		return fmt.Sprintf("resume.prompt begins with %q, which is a command where it is typed", text[:1])
	case utf8.RuneCountInString(text) > longestTyped:
		return fmt.Sprintf("resume.prompt is longer than the %d characters that can be typed", longestTyped)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "resume.prompt has characters that cannot be typed"
	default:
		return ""
	}
}

// editsAsVim reads the settings: the screen shows it in INSERT mode only.
func (a *Agent) editsAsVim(home string, s resume.Session) bool {
	set := a.Settings(s, s.Cwd)
	if set.EditorMode == "" {
		agent.ReadJSON(a.ConfigFile(home), &set)
	}
	return set.EditorMode == "vim"
}
