// The plugin of resumed for opencode 1 and 2 and for Kilo. It reports that a session waits to try again
// by itself, which is in no file, that it begins, and that it asks for a permission. It does nothing
// where resumed is not installed.
import { spawn } from "node:child_process"
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { basename, dirname, join } from "node:path"

const VERSION = "0.2.0"
const AGENT = /kilo/i.test(basename(process.execPath)) ? "kilo" : "opencode"
const STATE = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state")
const FILE = join(STATE, "resumed", AGENT, "events.jsonl")
const FULL = 1 << 20

// append adds a line to the file that the daemon reads.
function append(line) {
  try {
    mkdirSync(dirname(FILE), { recursive: true, mode: 0o700 })
    const info = statSync(FILE, { throwIfNoEntry: false })
    if (info && info.size > FULL) renameSync(FILE, FILE + ".old")
    appendFileSync(FILE, JSON.stringify(line) + "\n", { mode: 0o600 })
  } catch {
    // the agent must not suffer from it
  }
}

// call runs `resumed hook`, and does not wait for it.
function call(input) {
  try {
    const path = (process.env.PATH ?? "") + ":" + join(homedir(), ".local", "bin")
    const hook = spawn("resumed", ["hook", AGENT], { stdio: ["pipe", "ignore", "ignore"], env: { ...process.env, PATH: path } })
    hook.on("error", () => {})
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(input))
    hook.unref()
  } catch {
    // the agent must not suffer from it
  }
}

// report reports what hooks report, and says whether the event is one of those. Versions call the fields of a
// permission differently.
function report(name, session, directory, fields) {
  const say = (event, more) => call({ session_id: session, hook_event_name: event, cwd: directory, ...more })
  switch (name) {
    case "session.created":
      say("SessionStart")
      return true
    case "permission.asked":
      say("Notification", {
        notification_type: "permission_prompt",
        tool_name: fields.permission ?? fields.action,
        tool_input: { command: fields.metadata?.command ?? (fields.patterns ?? fields.resources)?.join(" ") },
      })
      return true
    case "permission.replied":
      say("PermissionReplied")
      return true
  }
  return false
}

// receiver returns a function that takes the events of a directory in opencode 1.
function receiver(directory) {
  const retrying = new Set()
  return ({ type: name, properties = {} }) => {
    const session = properties.sessionID ?? properties.info?.id
    if (!session || report(name, session, directory, properties)) return
    const status = properties.status
    const type = name === "session.status" ? status?.type : name
    if (type === "retry") retrying.add(session)
    else if (type === "busy" && !retrying.delete(session)) return
    else if (!["busy", "idle", "session.idle", "session.error"].includes(type)) return
    else retrying.delete(session)
    const line = { at: Date.now(), pid: process.pid, directory, type: name, session }
    if (status) line.status = status
    if (properties.error) line.error = properties.error.name
    append(line)
  }
}

export default {
  id: "resumed",
  version: VERSION,

  // opencode 1
  async server({ directory }) {
    const receive = receiver(directory)
    return { event: async ({ event }) => receive(event) }
  },

  // opencode 2, whose server has the sessions of all directories. Its database says that it waits to try again.
  setup(ctx) {
    const events = ctx?.event?.subscribe?.()?.[Symbol.asyncIterator]?.()
    if (!events) return
    const read = async () => {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        const { type, data, location } = next.value ?? {}
        if (data?.sessionID) report(type, data.sessionID, data.location?.directory ?? location?.directory, data)
      }
    }
    read().catch(() => {}) // the agent must not suffer from it
    return () => void events.return?.()?.catch?.(() => {})
  },
}
