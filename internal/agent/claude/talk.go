package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/screen"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
)

// longestTyped is how long a prompt may be that is typed. Claude Code takes a
// long one for something pasted, and hides it.
const longestTyped = 500

// Talk says how a session is continued while a live process holds it: by
// typing into its terminal, once it neither works nor goes on by itself.
func (a *Agent) Talk(ctx context.Context, s resume.Session, owner resume.Owner, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	last, plan, stands, err := agent.Stands(ctx, a, s)
	if !stands {
		return plan, err
	}
	if owner.Kind == resume.Headless {
		return agent.Runs(owner), nil
	}
	holder, untold, err := a.holder(s, owner)
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

// registers is how long a process may take until it says which session it
// holds. Versions before 2.1 never do.
const registers = time.Minute

// holder returns the registry's entry of the session's owner, or why nothing
// can be said to it.
func (a *Agent) holder(s resume.Session, owner resume.Owner) (holder entry, untold *agent.Leave, err error) {
	holders := 0
	for _, root := range a.Homes.Roots {
		entries, err := a.living(registryOf(root))
		if err != nil {
			return entry{}, nil, err
		}
		for _, e := range entries {
			if e.SessionID != s.Key.ID || a.Processes.IsRun(e.PID, s) {
				continue
			}
			holders++
			if e.PID == owner.PID {
				holder, holder.dir = e, filepath.Join(root, "sessions")
			}
		}
	}
	switch {
	case holders > 1:
		return entry{}, &agent.Leave{Why: fmt.Sprintf("%d live processes hold the session", holders), Park: true}, nil
	case holder.PID == 0:
		age, known := a.Processes.Age(owner.PID)
		return entry{}, &agent.Leave{
			Why:  fmt.Sprintf("process %d lives in the session's directory and does not say which session it holds", owner.PID),
			Park: !known || age > registers,
		}, nil
	default:
		return holder, nil, nil
	}
}

// standsAside leaves a session that Claude Code continues by itself.
func standsAside(ctx context.Context, s resume.Session, last agent.Evidence, holder entry) (agent.Plan, bool, error) {
	own, err := transcript.LastContinuation(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, false, err
	}
	reset := resetOf(s, last)
	until := own.StandsAsideUntil(reset, time.UnixMilli(holder.StartedAt), time.Now())
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

func (a *Agent) typing(s resume.Session, holder entry, w agent.Words) agent.Plan {
	text := strings.Join(strings.Fields(w.Prompt), " ") // a line break would send what stands before it
	if why := cannotBeTyped(text); why != "" {
		return agent.Parked("%s", why)
	}
	start, err := strconv.ParseUint(holder.ProcStart, 10, 64)
	if err != nil {
		return agent.Parked("process %d does not say when it was started", holder.PID)
	}
	asked := false
	return agent.Plan{Type: &agent.Typing{
		Process: resume.Process{PID: holder.PID, Start: start},
		Text:    text,
		Program: "claude",
		Judge: func(text string) agent.Sight {
			sight := screen.Read(text).Judge(screen.Process{
				PID: holder.PID, Status: a.status(holder), Asked: asked,
				Vim: func() bool { return a.editsAsVim(filepath.Dir(holder.dir), s.Cwd) },
			}, s, time.Now())
			asked = asked || sight.Menu
			return sight
		},
	}}
}

// cannotBeTyped says why a prompt cannot be typed, or "". In the composer its
// first character may mean something.
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
