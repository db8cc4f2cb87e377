package codex

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

// queueTable is the table of messages in Codex 0.166.
const queueTable = `CREATE TABLE queued_items (
	id TEXT PRIMARY KEY NOT NULL, thread_id TEXT NOT NULL, payload_json TEXT NOT NULL,
	queue_order INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL)`

// database returns Codex's queue, open as Codex has it.
func (sc *scene) database(t *testing.T) *sql.DB {
	db, err := sql.Open("sqlite", filepath.Join(sc.agent.Homes.Roots[0], "queue_1.sqlite")+"?_pragma=journal_mode(WAL)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func run(t *testing.T, db *sql.DB, statement string, args ...any) {
	_, err := db.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
}

func TestASessionWithAMessageInTheQueueIsToldNothingMore(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	plan := func() agent.Plan {
		plan, err := sc.agent.Plan(t.Context(), sc.session, "continue")
		require.NoError(t, err)
		return plan
	}
	require.NotNil(t, plan().Run, "no queue")

	db := sc.database(t)
	run(t, db, "CREATE TABLE other (id)")
	require.NotNil(t, plan().Run, "a queue of a form that nobody knows")
	run(t, db, queueTable)
	require.NotNil(t, plan().Run, "an empty queue")
	const insert = "INSERT INTO queued_items VALUES (?, ?, '{}', 0, 0, 0)"
	run(t, db, insert, "1", "01a1dc7f-97bf-7b93-a2a9-fe5a825c0000")
	require.NotNil(t, plan().Run, "a message for another session")

	run(t, db, insert, "2", sessionA)
	require.Equal(t, agent.Parked(alreadyQueued), plan())
	require.Equal(t, agent.Parked(alreadyQueued), sc.talk(t, "continue"))

	run(t, db, "DELETE FROM queued_items WHERE id = '2'")
	require.NotNil(t, sc.talk(t, "continue").Run, "it was taken")
}

func TestAQueueThatCannotBeReadIsNotPassedOver(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	broken := filepath.Join(sc.agent.Homes.Roots[0], "queue_1.sqlite")
	require.NoError(t, os.WriteFile(broken, []byte("no database at all, but long enough to be looked at as one"), 0o600))
	_, err := sc.agent.Plan(t.Context(), sc.session, "continue")
	require.ErrorContains(t, err, "look for queued messages in queue_1.sqlite")
}
