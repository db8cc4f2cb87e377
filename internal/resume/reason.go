package resume

import "time"

// Reason is why a session is in its state, as data: rules decide by its kind and fields alone. Package sentence
// says it for people, with what else is known of the session, and shows which fields each kind has.
type Reason struct {
	Kind Why       `json:"kind,omitempty"`
	At   time.Time `json:"at,omitzero"`    // a time that it names
	By   string    `json:"by,omitempty"`   // the session, task, machine or program that it names
	N    int64     `json:"n,omitempty"`    // a number that it names
	Text string    `json:"text,omitempty"` // words of another room, of a program or of a setting
}

// Because returns a reason that has no fields.
func Because(kind Why) Reason { return Reason{Kind: kind} }

// inWordsOf returns a reason in the words of another room.
func inWordsOf(kind Why, text string) Reason { return Reason{Kind: kind, Text: text} }

// stored returns a time as a reason has it: equal to itself when it is read from the disk.
func stored(t time.Time) time.Time { return t.UTC().Round(0) }

// Why is the kind of a Reason; empty: there is none. Programs know it as reason_kind.
type Why string

// Why a session waits.
const (
	WhyStopped      Why = "stopped"       // it waits for the stated end of what stopped it, or as long as its policy says; without a limit, a person asked for the resume
	WhyAskedFor     Why = "asked_for"     // a person wants it to be resumed now
	WhyStillTried   Why = "still_tried"   // some resumes did not help, and the tries go on for a time
	WhyResetEarlier Why = "reset_earlier" // its limit resets earlier than stated: another session of its account was told so
	WhyLiftedEarly  Why = "lifted_early"  // its limit was over before its reset: another session of its account works again
	WhyReserved     Why = "reserved"      // the rest of the week's allowance is for people
	WhyNotSent      Why = "not_sent"      // it could not be sent for now
	WhyColdTold     Why = "cold_told"     // it will read more again than resume.max_cold_tokens, and is resumed anyway
)

// Why a session that is due does not start yet.
const (
	WhyOneByOne       Why = "one_by_one"      // sessions of its account start one after the other; the account says which one tries
	WhyPaused         Why = "paused"          // a person has paused everything
	WhyHours          Why = "hours"           // outside of resume.hours
	WhyMaxConcurrent  Why = "max_concurrent"  // as many resumes run as may
	WhyAccountLimited Why = "account_limited" // another session of its account was told a later time
	WhyCommandRuns    Why = "command_runs"    // the command that began it still runs
	WhyBehind         Why = "behind"          // another session or task comes first
	WhyBehindYou      Why = "behind_you"      // another session or task comes first, and that needs a person
	WhyBehindMoving   Why = "behind_moving"   // another session or task comes first, and has only just moved
	WhyFleet          Why = "fleet"           // another machine of the fleet comes first, or the fleet cannot be asked
)

// Why a session needs a person.
const (
	WhyGaveUp         Why = "gave_up"         // its resumes did not help
	WhyNoWaitHelps    Why = "no_wait_helps"   // time does not end what stopped it
	WhyRetryFailed    Why = "retry_failed"    // the resume that a person asked for did not help
	WhyMaxWait        Why = "max_wait"        // its limit resets further away than resume.max_wait
	WhyMaxWindows     Why = "max_windows"     // it met more usage limits than resume.max_windows without a prompt
	WhyMaxCutOffs     Why = "max_cut_offs"    // it was cut off more often than resume.max_windows without a prompt
	WhyUntried        Why = "untried"         // this version of its agent was not tried: only a person continues it
	WhyClosed         Why = "closed"          // its user closed it after it was stopped (resume.closed)
	WhyTooCold        Why = "too_cold"        // it would read more again than resume.max_cold_tokens
	WhyCutOff         Why = "cut_off"         // its process ended in the middle of a turn
	WhyDenied         Why = "denied"          // its resume was refused a permission
	WhyUnknownOutcome Why = "unknown_outcome" // a prompt may have been given, and nothing shows it
	WhyUnreachable    Why = "unreachable"     // the process that has it open cannot be given a prompt
	WhyCannot         Why = "cannot"          // it cannot be continued before a person acts
	WhyStartNotSeen   Why = "start_not_seen"  // its start was not seen: a person must say that it may continue
	WhyStartLost      Why = "start_lost"      // what it was started with is lost or has changed: a person must say that it may continue
	WhyProjectProgram Why = "project_program" // a program of its own directory would continue it: a person must look first
	WhyOverdue        Why = "overdue"         // it was to be resumed while no daemon ran (resume.overdue)
	WhySuperseded     Why = "superseded"      // a session was begun in its directory after it stopped
	WhyExcluded       Why = "excluded"        // its directory is in resume.exclude
	WhyNotIncluded    Why = "not_included"    // its directory is not in resume.include
	WhyAsks           Why = "asks"            // its process asks a person for something
	WhySilent         Why = "silent"          // its process has shown no sign of work for resume.silent
	WhySubagents      Why = "subagents"       // subagents were stopped, and it was not
)

// Why a session is not stopped, or not any more.
const (
	WhyWorksAgain    Why = "works_again"     // it works again after a resume
	WhyWentOn        Why = "went_on"         // it continued by itself
	WhyContinued     Why = "continued"       // a person continued it, or another program
	WhyStoppedByUser Why = "stopped_by_user" // its user stopped it, in the agent
	WhyCancelled     Why = "cancelled"       // a person cancelled it
	WhyCleared       Why = "cleared"         // its user left it with /clear
	WhyAnswered      Why = "answered"        // a person answered what it asked
	WhyNotAsking     Why = "not_asking"      // its process, which asked for something, has ended
	WhyNotSilent     Why = "not_silent"      // it shows signs of work again
	WhyProcessEnded  Why = "process_ended"   // its process, which was silent, has ended
	WhySubagentsWork Why = "subagents_work"  // its subagents continued
	WhyTooOld        Why = "too_old"         // it was stopped longer ago than resume.lookback when it was first seen
	WhyForgotten     Why = "forgotten"       // it needed a person for longer than history.ended_keep
)

// Why a task has no session yet, or has one.
const (
	WhyTaskWaits    Why = "task_waits"    // the task waits for room
	WhyTaskAfter    Why = "task_after"    // the task waits for a time, a session or another task
	WhyTaskStarting Why = "task_starting" // the task is being started
	WhyTaskBegan    Why = "task_began"    // the task is a session now
	WhyTaskFailed   Why = "task_failed"   // the task was started, and no session appeared
	WhyTaskDropped  Why = "task_dropped"  // the task was dropped
)

// Reason returns why the resume was not sent.
func (ev NotSent) Reason() Reason {
	switch {
	case ev.Known.Kind != "":
		return ev.Known
	case ev.Then == ParkUnseen && ev.Shows != "":
		return inWordsOf(WhyProjectProgram, ev.Why)
	case ev.Then == ParkUnseen:
		return inWordsOf(WhyStartNotSeen, ev.Why)
	case ev.Then == Park && ev.Owner != nil:
		return inWordsOf(WhyUnreachable, ev.Why)
	case ev.Then == Park:
		return inWordsOf(WhyCannot, ev.Why)
	default:
		return inWordsOf(WhyNotSent, ev.Why)
	}
}
