// Package control serves requests on a unix socket. Server is the daemon's end, Client the
// command line's.
package control

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"resumed/internal/caller"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// SocketName is the name of the socket in the runtime directory.
const SocketName = "resumed.sock"

// Status is the state of the daemon, as `status --json` prints it.
type Status struct {
	Version  int            `json:"version"`
	Now      time.Time      `json:"now"`
	Daemon   Daemon         `json:"daemon"`
	Accounts []Account      `json:"accounts"`
	Sessions []view.Session `json:"sessions"`
}

// Daemon is the daemon itself.
type Daemon struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Paused    bool      `json:"paused"`
	DryRun    bool      `json:"dry_run"`
	Reading   bool      `json:"reading,omitempty"` // it has not yet read all transcripts that there were at its start
	Config    Config    `json:"config"`
	HTTP      string    `json:"http"` // the address of the metrics and the page; empty: not served
	Notices   Notices   `json:"notices"`
	Agents    []Watched `json:"agents"`   // with watched sessions; never null
	Problems  []string  `json:"problems"` // what prevents it from working right now

	Fleet *DaemonFleet `json:"fleet"` // null: not in a fleet
	Queue Queue        `json:"queue"`
}

// Queue counts the tasks by state. Those that were started are sessions.
type Queue struct {
	Queued   int        `json:"queued"`
	Starting int        `json:"starting"`
	Failed   int        `json:"failed"`
	NextAt   *time.Time `json:"next_at"` // when the first of them is due, if there is room; null: none waits
}

// Watched is an agent with watched sessions.
type Watched struct {
	Name     string     `json:"name"`
	Sessions int        `json:"sessions"` // that are known
	MovedAt  *time.Time `json:"moved_at"` // when one of them last moved; null: not observed
}

// Config is the origin of the configuration in use.
type Config struct {
	Path     string    `json:"path"` // empty: built-in defaults
	LoadedAt time.Time `json:"loaded_at"`
	OK       bool      `json:"ok"`
	Error    *string   `json:"error"` // why the newest file is not in use
}

// Notices is the state of the deliveries to people.
type Notices struct {
	Pending  int       `json:"pending"` // deliveries that have not ended
	Failed   int       `json:"failed"`  // since the start: refused, dropped or unavailable
	Channels []Channel `json:"channels"`
}

// Channel is one way to send notices.
type Channel struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Delivered int    `json:"delivered"` // since the start
	Failed    int    `json:"failed"`
	LastError string `json:"last_error,omitempty"`
}

// Account is a limit that several sessions share. If the sessions of one home use several
// providers, each provider has its own, under the same name.
type Account struct {
	Name     string     `json:"name"`
	Provider string     `json:"provider,omitempty"`
	State    string     `json:"state"` // closed | open | half_open
	ResetAt  *time.Time `json:"reset_at"`
	Sessions int        `json:"sessions"`

	Probe *resume.Probe `json:"probe,omitempty"` // the session that tries alone whether the limit is over

	Windows []usage.Window `json:"windows"` // its allowances, as far as the agent knows them; never null
}

func (a Account) String() string {
	return resume.AccountKey{Name: a.Name, Provider: a.Provider}.String()
}

// Action is what a person wants done with a session.
type Action string

// The orders.
const (
	Retry   Action = "retry"
	Due     Action = "due" // retry, unless the provider asked to wait longer
	Cancel  Action = "cancel"
	Stop    Action = "stop" // cancel, and end the command that runs
	Pause   Action = "pause"
	Unpause Action = "unpause"
)

// Backend is the daemon, as the server needs it.
type Backend interface {
	// Status returns the state; all includes sessions that were never interrupted. If only is
	// given, no other sessions are listed; accounts and daemon are complete.
	Status(ctx context.Context, all bool, only ...resume.Key) (Status, error)

	// Find returns the session that a person names.
	Find(ctx context.Context, name string) (resume.Key, error)

	// Session returns the state with only the session that a person names, and what its next resume would
	// do at the moment.
	Session(ctx context.Context, name string) (Status, error)

	// Changes is where the daemon records changes.
	Changes() *Changes

	// Do executes an order and returns the session after it.
	Do(ctx context.Context, key resume.Key, order Action) (view.Session, error)

	// AddReadings stores the allowances that an agent reported for the account of its own session.
	AddReadings(ctx context.Context, by caller.Caller, key resume.Key, readings []usage.Reading) error

	// HandleHook makes the daemon read a session soon, after a hook of its own agent was called.
	HandleHook(ctx context.Context, by caller.Caller, nudge HookEvent) error

	// Refused records that a caller asked for something that it may not have.
	Refused(by caller.Caller, order, name string)

	// Queue returns the tasks.
	Queue() Tasks

	// SetPaused pauses or unpauses the whole daemon.
	SetPaused(ctx context.Context, paused bool) error

	// History returns the steps since a time, oldest first, of all sessions or of the one
	// with that name.
	History(ctx context.Context, name string, since time.Time) (iter.Seq2[Step, error], error)

	// PageURL returns the URL of the page with an access token, or why there is none. With
	// once it works for one browser, now.
	PageURL(once bool) (string, error)

	// NewPageKey ends all links to the page, and all browsers that were let in.
	NewPageKey() error

	FleetBackend
}

// Tasks is the queue of work that has no session yet. A task is named by its number or its id.
type Tasks interface {
	// Tasks returns those that wait and those that were started recently, in their order.
	Tasks(ctx context.Context) ([]view.Task, error)

	// Enqueue adds a task, Edit replaces one, Drop removes one.
	Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error)
	Edit(ctx context.Context, task string, order view.TaskOrder) (view.Task, error)
	Drop(ctx context.Context, task string) (view.Task, error)

	// Move moves a task to the position of another one, or to First or Last.
	Move(ctx context.Context, task, to string) ([]view.Task, error)
}

// The positions that have names.
const (
	First = "FIRST"
	Last  = "LAST"
)

// Errors that the command line turns into exit codes.
var (
	ErrNoDaemon  = errors.New("no daemon is running")
	ErrHung      = errors.New("the daemon does not answer")
	ErrNoSession = resume.ErrNoSession
	ErrAmbiguous = view.ErrAmbiguous
	ErrNoTask    = errors.New("no such task")
	ErrEarly     = errors.New("the provider asked to wait")
	ErrRefused   = caller.ErrRefused
)

// kind is an error with its name and its status in an answer.
type kind struct {
	err  error
	name string
	code int
}

// kinds are the errors that a client distinguishes.
var kinds = []kind{
	{ErrAmbiguous, "ambiguous", http.StatusConflict},
	{ErrEarly, "early", http.StatusConflict},
	{ErrRefused, "refused", http.StatusForbidden},
	{ErrNoTask, "no_task", http.StatusNotFound},
	{ErrNoSession, "no_session", http.StatusNotFound},
}

// Step is one line of the history, as `history --json` prints it: what was decided or done,
// and why.
type Step struct {
	Version int            `json:"version"`
	At      time.Time      `json:"at"`
	Session string         `json:"session"`           // empty: it concerns the daemon itself
	Name    string         `json:"name,omitempty"`    // of the session, for people; empty if it was removed long ago
	Project string         `json:"project,omitempty"` // the last part of its directory
	Agent   string         `json:"agent"`
	Kind    string         `json:"kind"` // the new state, or what else happened
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"`
	Class   string         `json:"class,omitempty"`
	Reason  string         `json:"reason"`
	NextAt  time.Time      `json:"next_at,omitzero"`
	Attempt int            `json:"attempt"`           // resumes since the transcript last moved
	Outcome resume.Outcome `json:"outcome,omitempty"` // of the resume that ended with this step
	Error   string         `json:"error,omitempty"`
	AliveAt time.Time      `json:"alive_at,omitzero"` // of a daemon that starts: when one last ran before; zero: never, or not known
}

// HookEvent is what an agent's hook sends when something happens to a session. It says where to
// look, and what is in no transcript: that the process asks for something.
type HookEvent struct {
	Agent      string
	Session    string
	Transcript string // "": not known
	Asks       string // what its process asks a person for; "": nothing
	Answered   bool   // its process does not ask any more, if it did
}

// callFile is the file whose modification time says when an agent last called a hook.
func callFile(runtimeDir, agent string) string { return filepath.Join(runtimeDir, "called", agent) }

// MarkCall stores that an agent calls a hook now, also while no daemon runs.
func MarkCall(runtimeDir, agent string) error {
	path := callFile(runtimeDir, agent)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// LastCall returns when an agent last called a hook; zero: not since the user has logged in.
func LastCall(runtimeDir, agent string) time.Time {
	info, err := os.Lstat(callFile(runtimeDir, agent))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
