package claude

import (
	"context"
	"fmt"
	"path/filepath"
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

// longestTyped is the maximum length of a typed prompt. Claude Code treats a longer one as pasted
// text, and hides it.
const longestTyped = 500

// Talk returns how a session is continued while a live process holds it: by typing into its
// terminal, once it neither works nor will continue by itself.
func (a *Agent) Talk(ctx context.Context, s resume.Session, owner resume.Owner, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	last, plan, stands, err := agent.StillStopped(ctx, a, s)
	if !stands {
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
		return agent.Plan{Leave: untold}, nil
	}
	if plan, ok, err := standsAside(ctx, s, last, holder); ok || err != nil {
		return plan, err
	}
	if holder.Status == "busy" {
		return agent.Left(fmt.Sprintf("process %d works on the session", holder.PID)), nil
	}
	return a.typing(s, holder, w), nil
}

// standsAside returns the plan for a session that Claude Code will continue by itself.
func standsAside(ctx context.Context, s resume.Session, last agent.Evidence, holder holders.Holder) (agent.Plan, bool, error) {
	own, err := transcript.LastContinuation(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, false, err
	}
	reset := resetOf(s, last)
	until := own.StandsAsideUntil(reset, holder.Began, time.Now())
	if until.IsZero() {
		return agent.Plan{}, false, nil
	}
	return agent.Plan{Leave: transcript.LeaveUntil(holder.PID, until)}, true, nil
}

func resetOf(s resume.Session, last agent.Evidence) time.Time {
	if e, ok := last.Event.(resume.Limited); ok && e.Reset.Stated() {
		return e.Reset.At
	}
	return s.Limit.Reset.At
}

func (a *Agent) typing(s resume.Session, holder holders.Holder, w agent.Words) agent.Plan {
	text := strings.Join(strings.Fields(w.Prompt), " ") // a line break would send the part before it
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
		Judge: func(text string) agent.Sight {
			sight := screen.Read(text).Judge(screen.Process{
				PID: holder.PID, Status: a.Doing(holder), Asked: asked,
				Vim:      func() bool { return a.editsAsVim(holder.Home, s.Cwd) },
				Commands: func() bool { return transcript.CommandsFollow(context.Background(), s.Transcript) },
			}, s, time.Now())
			asked = asked || sight.Menu
			return sight
		},
	}}
}

// cannotBeTyped returns why a prompt cannot be typed, or "". Its first character may have a
// meaning in the composer.
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

// editsAsVim reports whether a process with that home and directory uses vim keys. Its screen
// shows that in INSERT mode only.
func (a *Agent) editsAsVim(home, dir string) bool {
	for _, path := range []string{ // in order of precedence
		"/etc/claude-code/managed-settings.json",
		filepath.Join(dir, ".claude", "settings.local.json"),
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(home, "settings.json"),
		a.ConfigFile(home),
	} {
		var file struct {
			EditorMode string `json:"editorMode"`
		}
		if agent.ReadJSON(path, &file) && file.EditorMode != "" {
			return file.EditorMode == "vim"
		}
	}
	return false
}
