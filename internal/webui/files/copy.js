// Commands that a person takes to a terminal.
import {put} from './dom.js';
import {tell} from './door.js';

export const canCopy = Boolean(navigator.clipboard);

// copy copies a text, and says so.
export async function copy(text, tells) {
  try {
    await navigator.clipboard.writeText(text);
    put(tells, `Copied: ${text}`);
  } catch {
    put(tells, `Not copied, select it: ${text}`);
  }
}

// copyRemedy copies what helps a session: the command of its remedy, else the one that opens it.
export async function copyRemedy(row, tells) {
  if (row.copy) return copy(row.copy, tells);
  try {
    const {go_on: command} = await tell(`session?${new URLSearchParams({agent: row.agent, id: row.id})}`);
    await copy(command || row.remedy || row.why, tells);
  } catch (error) {
    put(tells, `Not copied: ${error.message}`);
  }
}
