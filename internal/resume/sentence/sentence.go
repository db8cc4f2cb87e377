// Package sentence says for people why a session is in its state: the words of every resume.Reason, and nothing
// that a rule reads back.
package sentence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Of returns why a session is in its state. Its times are in RFC 3339, as its readers may be in any zone.
func Of(s resume.Session) string { return Why(s, s.Reason) }

// Why returns the words of a reason of a session.
func Why(s resume.Session, r resume.Reason) string {
	if form, found := held[r.Kind]; found {
		return "due, but " + fill(form, r)
	}
	if form, found := plain[r.Kind]; found {
		return fill(form, r)
	}
	if say, found := composed[r.Kind]; found {
		return say(s, r)
	}
	return r.Text
}

// fill replaces what a form names of a reason.
func fill(form string, r resume.Reason) string {
	if !strings.Contains(form, "{") {
		return form
	}
	return strings.NewReplacer("{at}", stamp(r.At), "{by}", r.By, "{n}", fmt.Sprint(r.N), "{text}", r.Text).Replace(form)
}

// held has the words for what holds back a session that is due.
var held = map[resume.Why]string{
	resume.WhyOneByOne:       "sessions of its account start one after the other (resume.stagger), and after a limit the first one tries alone",
	resume.WhyPaused:         "resumed is paused",
	resume.WhyHours:          "outside resume.hours",
	resume.WhyMaxConcurrent:  "resume.max_concurrent resumes run already",
	resume.WhyAccountLimited: "limited until {at}, as another session of its account was told",
	resume.WhyCommandRuns:    "the command that started it still runs",
	resume.WhyBehind:         "{by} comes first",
	resume.WhyBehindYou:      "{by} comes first, and that needs you",
	resume.WhyFleet:          "{text}",
	resume.WhyBehindMoving:   "{by} comes first: it has only just moved (resume.settle)",
}

// plain has the words that name nothing but the reason's own fields.
var plain = map[resume.Why]string{
	resume.WhyResetEarlier:  "its limit resets before {at}: another session of the same account was told so",
	resume.WhyLiftedEarly:   "its limit was over before the reset at {at}: session {by} of the same account works again",
	resume.WhyExcluded:      "its directory is excluded by resume.exclude ({text})",
	resume.WhyNotIncluded:   "its directory is not among resume.include",
	resume.WhyStoppedByUser: "stopped by a person",
	resume.WhyCleared:       "left by you with /clear",
	resume.WhyNotAsking:     "it does not ask any longer",
	resume.WhyNotSilent:     "not silent any longer",
	resume.WhyProcessEnded:  "its process has ended",
	resume.WhySubagentsWork: "its subagents continued",
	resume.WhyTooOld:        "its interruption was older than resume.lookback when it was first seen",
	resume.WhyForgotten:     "forgotten: it needed you longer ago than history.ended_keep",
	resume.WhyTaskWaits:     "starts when there is room",
	resume.WhyTaskAfter:     "begins after {text}",
	resume.WhyTaskStarting:  "task {n} is being started",
	resume.WhyTaskBegan:     "task {n} started as session {by}",
	resume.WhyTaskDropped:   "dropped from the queue",
}

// composed has those that also name what is known of the session. A reason that is in no table is in the words of
// another room already.
var composed = map[resume.Why]func(resume.Session, resume.Reason) string{
	resume.WhyStopped:  func(s resume.Session, _ resume.Reason) string { return cause(s, "") },
	resume.WhyAskedFor: func(_ resume.Session, r resume.Reason) string { return "due now, asked for by " + who(r.By) },
	resume.WhyStillTried: func(s resume.Session, r resume.Reason) string {
		return cause(s, fmt.Sprintf("still tried after %s, until %s", resumes(r.N), stamp(r.At)))
	},
	resume.WhyGaveUp: func(s resume.Session, r resume.Reason) string {
		return cause(s, "gave up after "+resumes(r.N)+" without progress")
	},
	resume.WhyNoWaitHelps: func(s resume.Session, _ resume.Reason) string { return cause(s, "waiting does not help") },
	resume.WhyReserved: func(s resume.Session, r resume.Reason) string {
		words := fmt.Sprintf("%s of the week's allowance is used, and the last %d %% are kept for you (resume.weekly_reserve): it waits for the new week", r.Text, r.N)
		if s.Blocked != nil {
			return "due, but " + words // for all sessions of the account the same
		}
		words = join(words, retry(s)+" continues it now")
		if s.Limit.Class == limit.None {
			return words
		}
		return join(words, cause(s, ""))
	},
	resume.WhyColdTold: func(s resume.Session, r resume.Reason) string {
		return join(describe(s.Limit, ""), readsAgain(r), "it is resumed anyway, unless you cancel it")
	},
	resume.WhyTooCold: func(s resume.Session, r resume.Reason) string {
		return join(readsAgain(r), retry(s)+" continues it anyway")
	},
	resume.WhyRetryFailed: func(_ resume.Session, r resume.Reason) string {
		return join(r.Text, "the resume that you asked for did not help")
	},
	resume.WhyMaxWait: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("the limit resets at %s, further away than resume.max_wait (%s); %s tries anyway", stamp(r.At), r.Text, retry(s))
	},
	resume.WhyMaxWindows: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("passed %d usage limits without a prompt from you (resume.max_windows is %d); %s continues it", s.Windows, r.N, retry(s))
	},
	resume.WhyMaxCutOffs: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("was cut off %d times without a prompt from you (resume.max_windows is %d); %s continues it", s.CutOffs, r.N, retry(s))
	},
	resume.WhyClosed: func(s resume.Session, _ resume.Reason) string {
		return "you closed it after it was stopped, so it is left to you (resume.closed): " + retry(s) + " continues it"
	},
	resume.WhyCutOff: func(s resume.Session, _ resume.Reason) string {
		return s.LimitText + "; " + retry(s) + " continues it"
	},
	resume.WhyUntried: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("%s; %s continues it with your settings as they are now", join(cause(s, ""), r.Text), retry(s))
	},
	resume.WhyStartNotSeen: askToContinue,
	resume.WhyStartLost:    askToContinue,
	resume.WhyProjectProgram: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("%s would continue it, and lies below its directory, where the agent can change it: look at it, then %s runs it (or name another program as command of [[agent]])",
			r.Text, retry(s))
	},
	resume.WhyOverdue: func(s resume.Session, r resume.Reason) string {
		what, at := "it was to be resumed", r.At
		if reset := s.Limit.Reset; reset.Stated() && r.At.Sub(reset.At).Abs() <= resume.SameWindow {
			what, at = "its reset was", reset.At
		}
		return fmt.Sprintf("%s at %s, and resumed was not running (resume.overdue): %s continues it", what, stamp(at), retry(s))
	},
	resume.WhySuperseded: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("session %s was started in the same directory after this one stopped, so this one is left to you: %s continues it", r.By, retry(s))
	},
	resume.WhyAsks: func(s resume.Session, _ resume.Reason) string { return "asks for " + s.Asks },
	resume.WhySilent: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("silent for %s in the middle of a turn: no record, no CPU, no tool that works or waits for the network or a time; look at it in %s",
			backoff.FormatDuration(time.Duration(r.N)*time.Second), place(s.Owner))
	},
	resume.WhySubagents: func(s resume.Session, _ resume.Reason) string {
		return SubagentsStopped(s.Subagents) + "; the session itself was not stopped, so it is left to you: ask it to continue them" + after(s.Subagents)
	},
	resume.WhyWorksAgain: func(_ resume.Session, r resume.Reason) string {
		return comma("works again after "+resumes(r.N), r.Text)
	},
	resume.WhyWentOn:    func(_ resume.Session, r resume.Reason) string { return comma("continued by itself", r.Text) },
	resume.WhyContinued: func(_ resume.Session, r resume.Reason) string { return "continued by " + cmp.Or(r.By, "a person") },
	resume.WhyCancelled: func(_ resume.Session, r resume.Reason) string { return "cancelled by " + who(r.By) },
	resume.WhyAnswered: func(s resume.Session, _ resume.Reason) string {
		if s.WorksAlone {
			return "works again: you answered it"
		}
		return "you answered it"
	},
	resume.WhyTaskFailed: func(s resume.Session, r resume.Reason) string {
		return fmt.Sprintf("task %d started, but failed: %s; `resumed logs %s` shows its output, %s starts it again", r.N, r.Text, resume.Typed(s.Key, s.Name), retry(s))
	},
}

// retry is the quoted command with which a person continues the session.
func retry(s resume.Session) string { return "`resumed retry " + resume.Typed(s.Key, s.Name) + "`" }

// askToContinue tells a person in what the session would continue on their word.
func askToContinue(s resume.Session, r resume.Reason) string {
	mode := ""
	if s.Offered != nil && s.Offered.String() != "" {
		mode = " in " + s.Offered.String() + ","
	}
	return fmt.Sprintf("%s; %s continues it%s with your settings as they are now", r.Text, retry(s), mode)
}

// cause says what holds the session back. A process that has it open and cannot be reached comes first,
// because a person can change that. Then the latest: a resume that failed by itself comes before the
// limit that it was to continue after. remark is added before the limit's own text, which may be long.
func cause(s resume.Session, remark string) string {
	class, last := describe(s.Limit, ""), lastEnded(s)
	failed := last.Outcome == resume.Failed || last.Outcome == resume.TimedOut || last.Outcome == resume.NoProgress
	switch {
	case failed && last.Err != "":
		return join(s.Unreached, last.Err, remark, stoppedBy(s))
	case s.Limit.Class == limit.None || s.LimitText == "":
		return join(s.Unreached, class, remark)
	case remark == "":
		return join(s.Unreached, describe(s.Limit, s.LimitText))
	default:
		return join(s.Unreached, class+", "+remark+": "+s.LimitText)
	}
}

func stoppedBy(s resume.Session) string {
	switch words := describe(s.Limit, s.LimitText); s.Limit.Class {
	case limit.None:
		return ""
	case limit.CutOff:
		return words // they say it already
	default:
		return "stopped by " + words
	}
}

// lastEnded returns the last resume that is not running.
func lastEnded(s resume.Session) (last resume.Attempt) {
	for _, a := range slices.Backward(s.Attempts) {
		if a.Outcome != "" {
			return a
		}
	}
	return last
}

func describe(v limit.Verdict, text string) string {
	words := v.Class.Title()
	switch {
	case v.Class == limit.None:
		return "asked for by you"
	case text == "":
		return words
	case v.Class == limit.CutOff:
		return text
	default:
		return words + ": " + text
	}
}

func readsAgain(r resume.Reason) string {
	return fmt.Sprintf("a resume reads about %s tokens again, more than resume.max_cold_tokens (%s)", grouped(fmt.Sprint(r.N)), grouped(r.Text))
}

func who(machine string) string {
	if machine == "" {
		return "you"
	}
	return "machine " + machine
}

func resumes(n int64) string { return fmt.Sprintf("%d %s", n, plural(int(n), "resume")) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func join(parts ...string) string { return joined("; ", parts) }

func comma(parts ...string) string { return joined(", ", parts) }

func joined(by string, parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), by)
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func grouped(text string) string {
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
