// The machines that share an account: who is there, who tries, and whose sessions wait. A
// page of sessions is asked for at a time.
import {byId, fill, make, put} from './dom.js';
import {tell} from './door.js';
import {clock, until} from './words.js';

const every = 5000; // between two looks, in milliseconds

export class Fleet {
  constructor(now) {
    Object.assign(this, {now, before: [], after: '', shown: null});
    byId('fleet-next').addEventListener('click', () => this.turn([...this.before, this.after], this.shown.next));
    byId('fleet-before').addEventListener('click', () => this.turn(this.before.slice(0, -1), this.before.at(-1)));
  }

  // want is told whether this host is in a fleet.
  want(there) {
    byId('fleet-section').hidden = !there;
    if (there && !this.looking) {
      this.looking = setInterval(() => this.look(), every);
      this.look();
    } else if (!there) {
      clearInterval(this.looking);
      this.looking = null;
    }
  }

  turn(before, after) {
    Object.assign(this, {before, after});
    this.look();
  }

  async look() {
    const after = this.after;
    try {
      const told = await tell(`/fleet?after=${encodeURIComponent(after)}`);
      if (after === this.after) this.show(told);
    } catch (error) {
      put(byId('fleet-line'), `this may be out of date: ${error.message}`);
      byId('fleet-line').dataset.tone = 'wait';
    }
  }

  show(told) {
    this.shown = told;
    put(byId('fleet-line'), told.line);
    byId('fleet-line').dataset.tone = told.tone;
    const member = (tone, name, state, ...rest) => {
      const item = make('li', '', 'member', tone);
      item.append(make('b', name), make('span', state, 'state'), ...rest.filter(Boolean).map((text) => make('span', text)));
      return item;
    };
    const now = this.now();
    fill(byId('fleet-hosts'), told.hosts.map(({name, state, tone, seen_at: at, skew}) =>
      member(tone, name, state, `last seen ${clock(at, now)}`, skew ? `its clock is off by ${Math.round(skew)}s` : '')));
    fill(byId('fleet-accounts'), told.accounts.map(({name, state, tone, reset_at: at, words}) =>
      member(tone, name, at ? `${state}, lifts ${until(at, now)}` : state, words)));
    fill(byId('fleet-sessions'), told.sessions.map(({name, by, state, tone, next_at: at}) =>
      member(tone, name, state, by, at ? until(at, now) : '')));
    byId('fleet-none').hidden = told.sessions.length > 0;
    byId('fleet-next').hidden = !told.next;
    byId('fleet-before').hidden = this.before.length === 0;
  }
}
