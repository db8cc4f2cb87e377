// The plugin of resumed for opencode 1 and 2 and for Kilo. It reports that a session begins, and that it
// asks for a permission. It does nothing where resumed is not installed.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { basename, join } from "node:path"

const VERSION = "0.2.0"
const AGENT = /kilo/i.test(basename(process.execPath)) ? "kilo" : "opencode"

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

// report reports what hooks report. Versions call the fields of a permission differently.
function report(name, session, directory, fields) {
  const say = (event, more) => call({ session_id: session, hook_event_name: event, cwd: directory, ...more })
  switch (name) {
    case "session.created":
      say("SessionStart")
      break
    case "permission.asked":
      say("Notification", {
        notification_type: "permission_prompt",
        tool_name: fields.permission ?? fields.action,
        tool_input: { command: fields.metadata?.command ?? (fields.patterns ?? fields.resources)?.join(" ") },
      })
      break
    case "permission.replied":
      say("PermissionReplied")
  }
}

export default {
  id: "resumed",
  version: VERSION,

  // opencode 1
  async server({ directory }) {
    return {
      event: async ({ event: { type, properties = {} } }) => {
        const session = properties.sessionID ?? properties.info?.id
        if (session) report(type, session, directory, properties)
      },
    }
  },

  // opencode 2, whose server has the sessions of all directories
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
