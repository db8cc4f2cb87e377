// The queue: work that has no session yet.
import {byId, fill, make, put, refill} from './dom.js';
import {tell} from './door.js';
import {orderButtons} from './orders.js';
import {said, since, until} from './words.js';

const every = 5000; // between two looks, in milliseconds

export class Queue {
  // now returns the daemon's clock; open shows a session by its key, and returns whether it is known.
  constructor({now, open, knows}) {
    Object.assign(this, {now, open, knows});
  }

  // shown is told whether the view is seen.
  shown(on) {
    clearInterval(this.looking);
    if (!on) return;
    this.looking = setInterval(() => this.look(), every);
    this.look();
  }

  async look() {
    try {
      this.show(await tell('queue'));
    } catch (error) {
      if (!byId('queue').firstChild) fill(byId('queue'), make('li', `The queue could not be read: ${error.message}`, 'line'));
    }
  }

  show(tasks) {
    const now = this.now();
    byId('queue-none').hidden = tasks.length > 0;
    refill(byId('queue'), tasks.map((task) => {
      const line = make('li', '', 'line task', task.tone);
      const when = task.next_at ? until(task.next_at, now) : task.after ? `after ${task.after}` : '';
      line.append(make('span', `${task.n}`, 'n'), make('span', task.state, 'state'), make('b', task.prompt, 'prompt'), make('span', `${task.project} · ${task.by}`, 'project'),
        make('span', said(task.why, now), 'why'), make('span', task.added_at ? `added ${since(task.added_at, now)}` : '', 'when'), make('span', when, 'next'));
      line.querySelector('.project').title = task.dir;
      line.querySelector('.prompt').title = task.prompt;
      if (task.session && this.knows(task.session)) {
        const button = make('button', 'Its session', 'open');
        button.type = 'button';
        button.setAttribute('aria-label', `Its session: task ${task.n}`);
        button.addEventListener('click', () => this.open(task.session));
        line.querySelector('.next').append(button);
      }
      line.append(orderButtons({...task, project: `task ${task.n}`}, ordersOf(task), {now: this.now, tells: byId('queue-said'), done: () => this.look()}));
      return line;
    }));
  }
}

// ordersOf returns what can be ordered of a task: one that was started is a session.
function ordersOf({state}) {
  return {
    queued: {retry: 'Start now', pause: 'Pause', drop: 'Remove'}, paused: {retry: 'Start now', unpause: 'Unpause', drop: 'Remove'}, failed: {retry: 'Retry', drop: 'Remove'},
  }[state] || {};
}

export function showQueueCount(n) {
  put(byId('queue-count'), n ? ` ${n}` : '');
}
