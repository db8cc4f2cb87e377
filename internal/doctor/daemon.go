package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func examineDaemon(ctx context.Context, r *Report, in Input) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("it does not answer"))
	defer cancel()
	status, err := in.Status(ctx, false)
	examineSessions(r, status.Sessions, in.Config.Resume.Trust())
	d := status.Daemon
	if err == nil {
		examineMounts(r, d.PID)
	}
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		r.Warn("daemon", "not running", "resumed install, or resumed run")
	case err != nil:
		r.Fail("daemon", "the socket in "+in.SocketDir+": "+err.Error(), "systemctl --user restart resumed")
	case d.DryRun:
		r.Warn("daemon", fmt.Sprintf("pid %d is a dry run: it resumes nothing", d.PID), "resumed install, or resumed run")
	case !d.Config.OK:
		r.Fail("daemon", "the newest configuration has errors and is not used: "+*d.Config.Error, "resumed config check")
	case len(d.Problems) > 0:
		r.Fail("daemon", strings.Join(d.Problems, "; "), "")
	case d.Version != in.Version:
		r.Warn("daemon", fmt.Sprintf("pid %d is resumed %s, and this is %s", d.PID, d.Version, in.Version), "systemctl --user restart resumed")
	case d.Notices.Failed > 0:
		r.Warn("daemon", fmt.Sprintf("%s did not reach you", humanize.Count(d.Notices.Failed, "notice")), "resumed notify test")
	default:
		r.OK("daemon", fmt.Sprintf("pid %d, resumed %s", d.PID, d.Version))
	}
}

// mostSessions limits how many sessions are listed.
const mostSessions = 20

// examineSessions reports the program of each interrupted session, if it was observed: a resume uses
// the same.
func examineSessions(r *Report, sessions []view.Session, trust ownership.Trust) {
	named := 0
	for _, s := range sessions {
		if s.State == resume.Watching || named == mostSessions {
			continue
		}
		name := fmt.Sprintf("session %.8s of %s", s.ID, s.Agent)
		if wrong, ok := errors.AsType[*ownership.Error](trust.Check(s.Cwd)); ok && s.Cwd != "" {
			named++
			r.Fail(name, "it is not continued: "+wrong.Path+" "+wrong.Why, wrong.Fix)
			continue
		}
		if s.Program == "" {
			continue
		}
		named++
		if _, err := os.Stat(s.Program); err != nil {
			r.Warn(name, s.Program+", which its own process ran, is gone: the agent's usual program continues it", "")
			continue
		}
		r.OK(name, s.Program+", as its own process ran it, unless command is set for the agent")
	}
}
