// What is known of the sessions, and how they are grouped. Nothing here touches the page.

import {said} from './words.js';

// What a session needs, as the daemon says it.
export const needs = ['Needs you', 'Being resumed', 'Waiting', 'Paused', 'Not stopped'];
export const tones = ['bad', 'busy', 'wait', 'still', 'still'];

// Known is what the daemon told of its sessions. Of many it tells first which groups they
// make, which are shown at once, and then the sessions in parts.
export class Known {
  sessions = new Map(); // by key
  coming = null; // those that are told in parts, until all are here
  outline = []; // the groups that they make

  // hear takes in an update.
  hear(update, now) {
    if (update.groups) {
      this.coming = new Map();
      this.outline = update.groups.map((each) => ({...each, id: idOf(each), at: each.next_at ? Date.parse(each.next_at) : 0}));
    } else if (update.whole) {
      this.coming = null; // its end was never told
      this.sessions = new Map();
    }
    const into = this.coming || this.sessions;
    for (const key of update.gone || []) into.delete(key);
    for (const row of update.rows) {
      row.why = said(row.why, now);
      row.at = row.next_at ? Date.parse(row.next_at) : 0;
      into.set(row.key, row);
    }
    if (update.more === false) {
      this.sessions = this.coming || this.sessions;
      this.coming = null;
    }
  }

  // begun reports whether no more than an outline can be shown.
  get begun() {
    return this.coming !== null && this.sessions.size === 0;
  }

  // sketch returns the groups of an outline, with those sessions that are here.
  sketch() {
    const here = new Map(group([...this.coming.values()]).map(({id, rows}) => [id, rows]));
    return this.outline.map((each) => ({...each, rows: here.get(each.id) || []})).sort(byNeed);
  }
}

// tally says how many sessions need what, of sessions or of groups.
export function tally(told) {
  const all = needs.map(() => 0);
  for (const {need, many = 1} of told) all[need] += many;
  return all;
}

// hay is what is looked in. It is made once: there may be ten thousand.
export function hay(row) {
  return row.hay ??= [row.project, row.name, row.id, row.by, row.account, row.cwd, row.state, row.owner, row.cause, row.why, row.remedy, row.asked].join('\n').toLowerCase();
}

// matches reports whether a session has every word that is looked for.
export function matches(row, words) {
  return words.every((word) => hay(row).includes(word));
}

export const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

const idOf = ({need, cause, account}) => `${need}\n${cause}\n${account}`;

const byUrgency = (a, b) => a.rank - b.rank || a.at - b.at || (a.key < b.key ? -1 : 1);

const byNeed = (a, b) => a.need - b.need || (a.id < b.id ? -1 : 1);

// group puts sessions together that need the same for the same reason, the most urgent
// first.
export function group(rows) {
  const groups = new Map();
  for (const row of rows) {
    const of = {need: row.need, cause: row.group || '', account: row.need === 0 || row.need === 2 ? row.account : ''};
    const id = idOf(of);
    let found = groups.get(id);
    if (!found) groups.set(id, found = {id, ...of, rows: [], at: 0});
    found.rows.push(row);
    if (row.at && (!found.at || row.at < found.at)) found.at = row.at;
  }
  const all = [...groups.values()];
  for (const each of all) {
    each.many = each.rows.length;
    each.rows.sort(byUrgency);
  }
  return all.sort(byNeed);
}
