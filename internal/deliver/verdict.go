package deliver

import (
	"resumed/internal/agent"
	"resumed/internal/resume"
)

// withdrawn is the verdict on a resume that was cancelled meanwhile, or that a stopping daemon leaves
// to the next one: nothing is reported.
var withdrawn = new(resume.NotSent)

// tryAgain is the verdict on a resume that may be sent later.
func tryAgain(why string) *resume.NotSent { return &resume.NotSent{Why: why} }

// park is the verdict on a resume for which waiting does not help.
func park(why string) *resume.NotSent { return &resume.NotSent{Why: why, Then: resume.Park} }

// parkIf parks the session if there is a reason.
func parkIf(why string) *resume.NotSent {
	if why == "" {
		return nil
	}
	return park(why)
}

// leaving is the verdict on a resume that the agent does not want to be sent.
func leaving(leave *agent.Leave, owner *resume.Owner) *resume.NotSent {
	notSent := &resume.NotSent{Why: leave.Why, Until: leave.Until, Owner: owner}
	switch {
	case leave.Park:
		notSent.Then = resume.Park
	case leave.Tell:
		notSent.Then = resume.Tell
	}
	return notSent
}

// unknown is the result of a resume if it is not known whether it was sent.
func unknown(why string) resume.Ended {
	return resume.Ended{Outcome: resume.Unknown, Err: why + "; look at the session before you retry"}
}
