package resume

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// newTask is a task that has just been added to the queue.
func newTask() *walk {
	w := newWalk()
	w.Task = &Task{N: 1, Place: 1, Prompt: "mend the tests"}
	return w.do(Enqueued{})
}

func TestWhenATaskStarts(t *testing.T) {
	w := newTask()
	require.Equal(t, TaskQueued, w.TaskState())
	require.Equal(t, Because(WhyTaskWaits), w.Reason)
	require.Equal(t, noon, w.NextAt)

	w = newWalk()
	w.Task = &Task{N: 2, After: "task 1", NotBefore: noon.Add(time.Hour)}
	w.do(Enqueued{})
	require.Equal(t, Reason{Kind: WhyTaskAfter, Text: "task 1"}, w.Reason)
	require.Equal(t, noon.Add(time.Hour), w.NextAt)
	w.do(Retry{})
	require.Equal(t, Because(WhyAskedFor), w.Reason)
	require.Equal(t, noon, w.NextAt)

	w = newWalk()
	w.Task, w.rules.Exclude = &Task{N: 1}, []string{"/src"}
	w.do(Enqueued{})
	require.Equal(t, Parked, w.State)
	require.Equal(t, w.rules.Excluded("/src/shop"), w.Reason)
	require.Equal(t, TaskFailed, w.TaskState())
}

// The transcript of a task may be read later than its command ends, so it fails only after a while.
func TestATaskWhoseCommandEnded(t *testing.T) {
	for name, c := range map[string]struct {
		how  Outcome
		want string // what its attempt says while it settles, and then
		err  string
	}{
		"with an error":    {Failed, "failed", "exit status 1"},
		"without an error": {Delivered, "", "its command ended without an answer from the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTask().resume().end(c.how)
			require.Equal(t, Settling, w.State)
			require.Nil(t, w.Run)
			require.Equal(t, c.want, string(w.Last().Outcome))
			w.after(w.rules.Settle - 1).do(Due{})
			require.Equal(t, Settling, w.State, "too early")
			w.after(1).do(Due{})
			require.Equal(t, Parked, w.State)
			require.Equal(t, []any{WhyTaskFailed, int64(1)}, []any{w.Reason.Kind, w.Reason.N})
			require.Contains(t, w.Reason.Text, c.err)
		})
	}

	w := newTask().resume().do(Ended{Mark: "another", Outcome: Failed})
	require.NotNil(t, w.Run, "the end of another resume is not its own")
	w = newTask().resume().end(Unknown)
	require.NotEqual(t, Settling, w.State, "nobody knows how it ended: it may still run")
	w = newTask().resume()
	w.State = Waiting
	w.end(Failed)
	require.Equal(t, Waiting, w.State, "it waits for something else already")
}

func TestWhichPromptsATaskCanHave(t *testing.T) {
	require.NoError(t, CheckPrompt(strings.Repeat("x", maxPrompt)))
	require.ErrorContains(t, CheckPrompt(strings.Repeat("x", maxPrompt+1)), "put it into a file")
	require.ErrorContains(t, CheckPrompt(" \n"), "empty")
	require.ErrorContains(t, CheckPrompt("a\x00b"), "NUL")
}

func TestATaskThatRunsIsNotDropped(t *testing.T) {
	w := newTask().do(Forget{})
	require.Nil(t, w.Task)
	require.Equal(t, Because(WhyTaskDropped), w.Reason)
	w = newTask().resume()
	require.Equal(t, TaskStarting, w.TaskState())
	w.do(Forget{})
	require.NotNil(t, w.Task, "its command shows its own result")
}

func TestTasksChangePlaces(t *testing.T) {
	w := newTask().do(Relisted{Place: 3})
	require.Equal(t, 3, w.Task.Place)
	w.do(Relisted{})
	require.Nil(t, w.Task)
	require.Nil(t, newWalk().do(Relisted{Place: 3}).Task)

	numbers := new(TaskNumbers)
	numbers.Note(Session{})
	numbers.Note(Session{Task: &Task{N: 4, Place: 7}})
	given := numbers.Give(newTask().Session)
	require.Equal(t, []int{5, 8}, []int{given.Task.N, given.Task.Place})
	given = numbers.Give(newTask().Session)
	require.Equal(t, []int{6, 9}, []int{given.Task.N, given.Task.Place})
}

func TestWhichSessionATaskMayHaveStarted(t *testing.T) {
	task := newTask().resume().Session
	began := task.LastStart()
	for name, c := range map[string]struct {
		task  func(*Session)
		other Session
		want  bool
	}{
		"a new one in its directory":           {nil, Session{Key: Key{"claude-code", "b"}, Cwd: "/src/shop", FoundAt: began}, true},
		"not one that was there":               {nil, Session{Key: Key{"claude-code", "b"}, Cwd: "/src/shop", FoundAt: began.Add(-1)}, false},
		"not one in another directory":         {nil, Session{Key: Key{"claude-code", "b"}, Cwd: "/src", FoundAt: began}, false},
		"not one of another agent":             {nil, Session{Key: Key{"codex", "b"}, Cwd: "/src/shop", FoundAt: began}, false},
		"not another task":                     {nil, Session{Key: Key{"claude-code", "b"}, Cwd: "/src/shop", FoundAt: began, Task: &Task{}}, false},
		"the one that it named":                {func(s *Session) { s.Task.Session = "b" }, Session{Key: Key{"claude-code", "b"}}, true},
		"and no other then":                    {func(s *Session) { s.Task.Session = "b" }, Session{Key: Key{"claude-code", "c"}, Cwd: "/src/shop", FoundAt: began}, false},
		"none before its command was started":  {func(s *Session) { s.Run = nil }, Session{Key: Key{"claude-code", "b"}, Cwd: "/src/shop", FoundAt: began}, false},
		"none if its own id has been observed": {func(s *Session) { s.Task.Session = s.Key.ID }, Session{Key: Key{"claude-code", "4f2a"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := task.WithTask(func(*Task) {})
			if c.task != nil {
				c.task(&s)
			}
			require.Equal(t, c.want, s.MayHaveStarted(c.other))
		})
	}
}

func TestWhatTheSessionOfATaskMeets(t *testing.T) {
	w := newTask().resume().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)))
	require.Equal(t, TaskStarted, w.TaskState())
	require.Equal(t, noon, w.BornAt)
	require.Equal(t, Waiting, w.State, "from now on it is a session like any other")
	require.Equal(t, noon.Add(time.Hour+time.Minute), w.NextAt)
}
