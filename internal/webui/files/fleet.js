// The machines that share an account: who is there, who tries, and whose sessions wait, by host and
// project. A page of sessions is asked for at a time.
import {byId, fill, make, put, refill} from './dom.js';
import {tell} from './door.js';
import {orderButtons} from './orders.js';
import {clock, count, since, until} from './words.js';

const every = 5000; // between two looks, in milliseconds
const few = 12; // a group of so many is open at first

export class Fleet {
  constructor(now) {
    Object.assign(this, {now, before: [], after: '', find: '', told: null, opened: new Map()});
    byId('fleet-next').addEventListener('click', () => this.turn([...this.before, this.after], this.told.next));
    byId('fleet-before').addEventListener('click', () => this.turn(this.before.slice(0, -1), this.before.at(-1)));
    byId('fleet-search').addEventListener('input', ({target}) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => {
        this.find = target.value;
        this.opened.clear();
        this.turn([], '');
      }, 200);
    });
  }

  // want is told whether this host is in a fleet.
  want(there) {
    document.querySelector('nav [data-view=fleet]').hidden = !there;
  }

  // shown is told whether the view is seen.
  shown(on) {
    clearInterval(this.looking);
    if (!on) return;
    this.looking = setInterval(() => this.look(), every);
    this.look();
  }

  turn(before, after) {
    Object.assign(this, {before, after});
    this.look();
  }

  async look() {
    const {after, find} = this;
    try {
      const told = await tell(`fleet?${new URLSearchParams({after, find})}`);
      if (after === this.after && find === this.find) this.show(told);
    } catch (error) {
      put(byId('fleet-line'), `this may be out of date: ${error.message}`);
      byId('fleet-line').dataset.tone = 'wait';
    }
  }

  show(told) {
    this.told = told;
    const now = this.now();
    put(byId('fleet-line'), told.line + (told.next || this.before.length ? `; ${told.sessions.length} of its sessions are on this page` : ''));
    byId('fleet-line').dataset.tone = told.tone;
    fill(byId('fleet-hosts'), told.hosts.map(({name, state, tone, seen_at: at, skewed, skew_seconds: skew}) =>
      member(tone, name, state, `last seen ${clock(at, now)}${skewed ? `; its clock is off by ${Math.round(skew)}s` : ''}`)));
    fill(byId('fleet-accounts'), told.accounts.map(({name, state, tone, reset_at: at, words}) =>
      member(tone, name, at ? `${state}, lifts ${until(at, now)}` : state, words)));
    refill(byId('fleet-sessions'), grouped(told.sessions).map((group) => this.group(group, now)));
    byId('fleet-none').hidden = told.sessions.length > 0;
    put(byId('fleet-none'), this.find ? 'No session of the fleet matches.' : 'No session of the fleet is interrupted.');
    byId('fleet-next').hidden = !told.next;
    byId('fleet-before').hidden = this.before.length === 0;
  }

  // group shows the sessions of one project on one host; a large group is closed at first.
  group({id, host, project, rows, you}, now) {
    const section = byId('group').content.firstElementChild.cloneNode(true), part = (selector) => section.querySelector(selector);
    const open = this.opened.get(id) ?? (rows.length <= few || Boolean(this.find)), toggle = part('h3 button');
    section.dataset.tone = you ? 'bad' : 'still';
    put(part('.cause'), `${host} · ${project}`);
    put(part('.many'), `${count(rows.length, 'session')}${you ? `, ${you} ${you === 1 ? 'needs' : 'need'} you` : ''}`);
    part('.all').remove();
    toggle.setAttribute('aria-expanded', open);
    toggle.addEventListener('click', () => {
      this.opened.set(id, !open);
      this.show(this.told);
    });
    part('ul').hidden = !open;
    if (open) fill(part('ul'), rows.map((row) => this.line(row, now)));
    return section;
  }

  line(row, now) {
    const {host, name, by, state, tone, stopped_at: at, next_at: next} = row, line = make('li', '', 'line away', tone);
    const why = row.away && row.retry ? `run resumed retry ${name} on ${host}: its start was not seen` : row.why;
    line.append(make('span', state, 'state'), make('span', `${name} · ${by}`, 'who'), make('span', why, 'why'), make('span', at ? since(at, now) : '', 'when'), make('span', next ? until(next, now) : '', 'next'),
      orderButtons({...row, project: `${host}/${name}`}, ordersOf(row), {now: this.now, tells: byId('fleet-said'), done: () => this.look()}));
    line.querySelector('.why').title = why;
    return line;
  }
}

// ordersOf returns what can be ordered of a session: another host takes no order to unpause, nor a word for a session whose start was not seen.
function ordersOf({idle, running, paused, away, retry}) {
  if (paused) return away ? {} : {unpause: 'Unpause'};
  return {...(idle || running || away && retry ? {} : {retry: retry ? 'Continue' : 'Retry'}), pause: 'Pause', ...(idle ? {} : {cancel: 'Cancel'})};
}

// grouped puts sessions together by host and project; what needs a person comes first, then what continues first.
function grouped(sessions) {
  const groups = new Map();
  for (const row of sessions) {
    const id = `${row.host}\n${row.project}`;
    if (!groups.has(id)) groups.set(id, {id, host: row.host, project: row.project, rows: [], you: 0});
    groups.get(id).rows.push(row);
    if (row.need === 0) groups.get(id).you++;
  }
  for (const {rows} of groups.values()) rows.sort((a, b) => a.need - b.need || Date.parse(a.next_at || 0) - Date.parse(b.next_at || 0) || (a.name < b.name ? -1 : 1));
  return [...groups.values()].sort((a, b) => (b.you > 0) - (a.you > 0) || (a.id < b.id ? -1 : 1));
}

function member(tone, name, state, words) {
  const item = make('li', '', 'line member', tone);
  item.append(make('b', name), make('span', state, 'state'), make('span', words));
  return item;
}
