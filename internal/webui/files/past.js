// The history of all sessions: what was decided, and why, the newest first.
import {byId, fill, make, put} from './dom.js';
import {tell} from './door.js';
import {wordsOf} from './model.js';
import {because, clock, plain, said} from './words.js';

const step = 200; // steps that are asked for at a time

export class Past {
  // now returns the daemon's clock; sessions returns what is known of them by key; open shows one.
  constructor({now, sessions, open}) {
    Object.assign(this, {now, sessions, open, on: false, most: step, steps: [], words: [], timer: null});
    byId('history-search').addEventListener('input', ({target}) => {
      this.words = wordsOf(target.value);
      this.show();
    });
    byId('history-more').addEventListener('click', () => {
      this.most += step;
      this.look();
    });
  }

  shown(on) {
    this.on = on;
    if (on) this.look();
  }

  // told looks again soon, if the view is seen.
  told() {
    if (!this.on) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.on) this.look();
    }, 1000);
  }

  async look() {
    try {
      this.steps = await tell(`history?most=${this.most}`);
      this.show();
    } catch (error) {
      if (!this.steps.length) fill(byId('history'), make('li', `The history could not be read: ${error.message}`, 'line'));
    }
  }

  show() {
    const now = this.now(), rows = this.sessions();
    const lines = this.steps.map((each) => {
      const row = rows.get(each.key), why = because(plain(said(each.why, now)), each.failed);
      const who = row ? `${row.project} · ${row.name} · ${each.by}` : each.key ? `${each.name.slice(0, 8)} · ${each.by}` : 'the daemon';
      return {...each, row, who, why};
    }).filter(({who, what, why}) => this.words.every((word) => `${who}\n${what}\n${why}`.toLowerCase().includes(word)));
    const more = this.steps.length >= this.most;
    byId('history-none').hidden = lines.length > 0;
    put(byId('history-none'), this.steps.length ? `No step${more ? ` of the newest ${this.steps.length}` : ''} matches.` : 'Nothing has happened.');
    byId('history-more').hidden = !more;
    fill(byId('history'), lines.map(({at, who, what, tone, why, row}) => {
      const line = make('li', '', 'line step', tone), name = row ? make('button', who, 'open who') : make('span', who, 'who');
      if (row) {
        name.type = 'button';
        name.addEventListener('click', () => this.open(row));
      }
      line.append(make('span', clock(at, now), 'when'), make('span', what, 'state'), name, make('span', why, 'why'));
      line.querySelector('.why').title = why;
      return line;
    }));
  }
}
