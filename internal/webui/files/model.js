// What is known of the sessions, and how they are grouped. Nothing here touches the page.

import {said} from './words.js';

// What a session needs, as the daemon says it.
export const needs = ['Needs you', 'Being resumed', 'Waiting', 'Paused', 'Back at work'];
export const tones = ['bad', 'busy', 'wait', 'still', 'good'];

// apply takes in an update, and returns whether the daemon told everything anew.
export function apply(sessions, update, now) {
  if (update.whole) sessions.clear();
  for (const key of update.gone || []) sessions.delete(key);
  for (const row of update.rows) {
    row.why = said(row.why, now);
    row.at = row.next_at ? Date.parse(row.next_at) : 0;
    sessions.set(row.key, row);
  }
}

// tally says how many sessions need what.
export function tally(rows) {
  const all = needs.map(() => 0);
  for (const row of rows) all[row.need]++;
  return all;
}

// hay is what is looked in. It is made once: there may be ten thousand.
export function hay(row) {
  return row.hay ??= [row.project, row.name, row.id, row.by, row.account, row.cwd, row.state, row.owner, row.cause, row.why].join('\n').toLowerCase();
}

// matches reports whether a session has every word that is looked for.
export function matches(row, words) {
  return words.every((word) => hay(row).includes(word));
}

export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// cause names what sessions share that stand together. Who is being resumed, paused or
// back at work needs no more to be told of.
function shared(row) {
  if (row.need === 0) return [row.cause ? `${row.state}: ${row.cause}` : row.state, row.account];
  if (row.need === 2) return [row.cause, row.account];
  return ['', ''];
}

const byUrgency = (a, b) => a.rank - b.rank || a.at - b.at || (a.key < b.key ? -1 : 1);

// group puts sessions together that need the same for the same reason, the most urgent
// first.
export function group(rows) {
  const groups = new Map();
  for (const row of rows) {
    const [cause, account] = shared(row);
    const id = `${row.need}\n${cause}\n${account}`;
    let found = groups.get(id);
    if (!found) groups.set(id, found = {id, need: row.need, cause, account, rows: [], at: 0});
    found.rows.push(row);
    if (row.at && (!found.at || row.at < found.at)) found.at = row.at;
  }
  const all = [...groups.values()];
  for (const each of all) each.rows.sort(byUrgency);
  return all.sort((a, b) => a.need - b.need || (a.id < b.id ? -1 : 1));
}
