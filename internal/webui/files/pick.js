// The sessions that a person has selected, to order the same for all of them.
import {byId, put} from './dom.js';
import {count} from './words.js';

export class Picked {
  // give orders; changed is told that others are selected.
  constructor({give, changed}) {
    Object.assign(this, {keys: new Set(), last: '', changed});
    byId('picked').addEventListener('click', ({target}) => {
      if (target.dataset.order) give(target.dataset.order, this.rows());
      else if (target.id === 'unpick') this.clear();
    });
    this.sessions = new Map();
  }

  rows() {
    return [...this.keys].map((key) => this.sessions.get(key)).filter(Boolean);
  }

  // told takes in what sessions there are: one that is gone is not selected any more.
  told(sessions) {
    this.sessions = sessions;
    for (const key of this.keys) if (!sessions.has(key)) this.keys.delete(key);
    this.show();
  }

  // toggle selects a session or not; with all, also those between it and the last one.
  toggle(row, order, all) {
    const on = !this.keys.has(row.key), from = order.findIndex(({key}) => key === this.last), to = order.indexOf(row);
    const these = all && from >= 0 ? order.slice(Math.min(from, to), Math.max(from, to) + 1) : [row];
    for (const {key} of these) if (on) this.keys.add(key); else this.keys.delete(key);
    this.last = row.key;
    this.show();
  }

  // clear selects nothing, and reports whether anything was selected.
  clear() {
    const some = this.keys.size > 0;
    this.keys.clear();
    this.show();
    return some;
  }

  show() {
    byId('picked').hidden = this.keys.size === 0;
    put(byId('picked').querySelector('b'), `${count(this.keys.size, 'session')} selected`);
    this.changed();
  }
}
