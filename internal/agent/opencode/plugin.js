// Written by resumed: tells it when opencode waits to try again by itself, which
// is in no file. Remove this file and nothing else changes.
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs"
import { dirname } from "node:path"

const FILE = "EVENTS_FILE"
const FULL = 1 << 20

function append(line) {
  try {
    mkdirSync(dirname(FILE), { recursive: true, mode: 0o700 })
    const info = statSync(FILE, { throwIfNoEntry: false })
    if (info && info.size > FULL) renameSync(FILE, FILE + ".old")
    appendFileSync(FILE, JSON.stringify(line) + "\n", { mode: 0o600 })
  } catch {
    // opencode must not suffer from it
  }
}

export const Resumed = async ({ directory }) => {
  const retrying = new Set()
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID
      const status = event.properties?.status
      if (!session) return
      const type = event.type === "session.status" ? status?.type : event.type
      if (type === "retry") retrying.add(session)
      else if (type === "busy" && !retrying.delete(session)) return
      else if (!["busy", "idle", "session.idle", "session.error"].includes(type)) return
      else retrying.delete(session)
      const line = { at: Date.now(), pid: process.pid, directory, type: event.type, session }
      if (status) line.status = status
      if (event.properties.error) line.error = event.properties.error.name
      append(line)
    },
  }
}
