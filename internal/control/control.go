// Package control answers questions and takes orders on a unix socket. Server
// is the daemon's end, Client the command line's.
package control

import (
	"context"
	"errors"
	"iter"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// SocketName is the name of the socket in the runtime directory.
const SocketName = "resumed.sock"

// Status is what the daemon knows, as `status --json` prints it.
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
	Config    Config    `json:"config"`
	HTTP      string    `json:"http"` // where metrics and the page are served; empty: nowhere
	Notices   Notices   `json:"notices"`
	Agents    []Watched `json:"agents"`   // whose sessions it watches; never null
	Problems  []string  `json:"problems"` // what stands in its way right now

	Fleet *DaemonFleet `json:"fleet"` // null: it is in none
	Queue Queue        `json:"queue"`
}

// Queue is how many tasks stand where. Those that were begun are sessions.
type Queue struct {
	Queued   int        `json:"queued"`
	Starting int        `json:"starting"`
	Failed   int        `json:"failed"`
	NextAt   *time.Time `json:"next_at"` // when the first of them is due, if there is room; null: none waits
}

// Watched is an agent whose sessions are watched.
type Watched struct {
	Name     string     `json:"name"`
	Sessions int        `json:"sessions"` // that are known
	MovedAt  *time.Time `json:"moved_at"` // when one of them last moved; null: nobody saw it
}

// Config is how the configuration in force came to be.
type Config struct {
	Path     string    `json:"path"` // empty: built-in defaults
	LoadedAt time.Time `json:"loaded_at"`
	OK       bool      `json:"ok"`
	Error    *string   `json:"error"` // why the newest file is not in force
}

// Notices is how the telling of people goes.
type Notices struct {
	Pending  int       `json:"pending"` // deliveries that have not ended
	Failed   int       `json:"failed"`  // since the start: refused, dropped or unavailable
	Channels []Channel `json:"channels"`
}

// Channel is one way to reach people.
type Channel struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Delivered int    `json:"delivered"` // since the start
	Failed    int    `json:"failed"`
	LastError string `json:"last_error,omitempty"`
}

// Account is a limit that several sessions share. Where sessions of one home
// ask several providers, each has its own, under the same name.
type Account struct {
	Name     string     `json:"name"`
	Provider string     `json:"provider,omitempty"`
	State    string     `json:"state"` // closed | open | half_open
	ResetAt  *time.Time `json:"reset_at"`
	Sessions int        `json:"sessions"`

	Windows []usage.Window `json:"windows"` // its allowances, as far as the agent tells; never null
}

func (a Account) String() string {
	return resume.AccountKey{Name: a.Name, Provider: a.Provider}.String()
}

// Order is what a person wants done with a session.
type Order string

// The orders.
const (
	Retry   Order = "retry"
	Cancel  Order = "cancel"
	Stop    Order = "stop" // cancel, and end the command that runs
	Pause   Order = "pause"
	Unpause Order = "unpause"

	// OwnKey is retry with the user's own key, at their cost. It is taken on the socket
	// alone, and for a session of this host.
	OwnKey Order = "own_key"

	// AskOwnKey does nothing, and says whether OwnKey would.
	AskOwnKey Order = "ask_own_key"
)

// Backend is the daemon, as the server needs it.
type Backend interface {
	// Status returns all that is known; all includes sessions that were
	// never interrupted. Where only is given, no other sessions are listed;
	// accounts and daemon are told in full.
	Status(ctx context.Context, all bool, only ...resume.Key) (Status, error)

	// Find returns the session that a person means by a text.
	Find(ctx context.Context, name string) (resume.Key, error)

	// Plan returns what the next resume of a session would do, as things stand.
	Plan(ctx context.Context, key resume.Key) (view.Plan, error)

	// Changes is where the daemon notes what changed.
	Changes() *Changes

	// Do carries out an order and returns the session after it.
	Do(ctx context.Context, key resume.Key, order Order) (view.Session, error)

	// Told takes what a session's agent was told of the allowances of its account.
	Told(ctx context.Context, key resume.Key, readings []usage.Reading) error

	// Nudge has what an agent's hook tells of looked at soon. It returns at once.
	Nudge(nudge Nudge) error

	// Queue is who keeps the tasks.
	Queue() Tasks

	// SetPaused pauses the daemon as a whole, or ends that.
	SetPaused(ctx context.Context, paused bool) error

	// History returns the steps since a time, oldest first, of all sessions
	// or of the one of that name.
	History(ctx context.Context, name string, since time.Time) (iter.Seq2[Step, error], error)

	// PageURL returns where a browser finds the page, with the token that lets
	// it in, or why there is none. With once it lets in one browser, now.
	PageURL(once bool) (string, error)

	// Reload reads the configuration again and returns what is wrong with it.
	Reload(ctx context.Context) error

	FleetBackend
}

// Tasks keeps the work that has no session yet. A task is called by its number, or by
// its id.
type Tasks interface {
	// Tasks returns those that wait and those that were begun not long ago, in their order.
	Tasks(ctx context.Context) ([]view.Task, error)

	// Enqueue takes a task, Edit puts another one in its place, Drop forgets it.
	Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error)
	Edit(ctx context.Context, task string, order view.TaskOrder) (view.Task, error)
	Drop(ctx context.Context, task string) (view.Task, error)

	// Move gives a task the place of another one, or the first or last.
	Move(ctx context.Context, task, to string) ([]view.Task, error)
}

// The places that have names.
const (
	First = "FIRST"
	Last  = "LAST"
)

// Errors that the command line turns into exit codes.
var (
	ErrNoDaemon  = errors.New("no daemon is running")
	ErrHung      = errors.New("the daemon does not answer")
	ErrNoSession = resume.ErrNoSession
	ErrNoTask    = errors.New("no such task")
)

// IsAmbiguous reports whether a name fits several sessions, as found here or
// as the daemon says.
func IsAmbiguous(err error) bool {
	if remote, ok := errors.AsType[*RemoteError](err); ok {
		return remote.kind == kindAmbiguous
	}
	_, ok := errors.AsType[*view.AmbiguousError](err)
	return ok
}
