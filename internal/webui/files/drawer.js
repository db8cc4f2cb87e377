// All that is known of one session: on what it rests, what was decided, what was tried.
import {byId, fill, make, put} from './dom.js';
import {tell} from './door.js';
import {curve} from './curve.js';
import {canCopy, copy} from './copy.js';
import {fillOrders} from './row.js';
import {full, zoom} from './strip.js';
import {because, clock, said, until} from './words.js';

export class Drawer {
  // order gives one; step returns the session before or after one; changed is told which one is shown.
  constructor({now, order, step, changed}) {
    Object.assign(this, {now, step, changed, dialog: byId('drawer'), row: null, said: new Map(), ticking: []});
    byId('close').addEventListener('click', () => this.close());
    byId('before').addEventListener('click', () => this.turn(-1));
    byId('after').addEventListener('click', () => this.turn(1));
    this.dialog.addEventListener('click', ({target}) => {
      if (target.dataset.order) order(target.dataset.order, [this.row], byId('drawer-said'));
    });
    this.wanted = decodeURIComponent(location.hash.slice(1)); // a reload shows what was shown
  }

  // open shows a session beside the list, which stays as it is.
  open(row, focus = true) {
    this.row = row;
    this.said.clear();
    this.ticking = [];
    fill(byId('parts'), make('p', 'Loading …', 'soft'));
    put(byId('drawer-said'), '');
    this.head();
    history.replaceState(null, '', `#${encodeURIComponent(row.key)}`);
    if (!this.dialog.open) {
      this.dialog.show(); // it takes the focus
      document.body.dataset.drawer = '';
    }
    if (focus) byId('close').focus({preventScroll: true});
    this.dialog.scrollTop = 0;
    this.changed(row.key);
    this.look();
  }

  // turn shows the session before or after this one.
  turn(step) {
    const row = this.row && this.step(this.row.key, step);
    if (row) this.open(row, false);
  }

  // close reports whether anything was shown.
  close() {
    if (!this.dialog.open) return false;
    const {key} = this.row, inside = this.dialog.contains(document.activeElement);
    this.dialog.close();
    this.row = null;
    delete document.body.dataset.drawer;
    history.replaceState(null, '', document.body.dataset.view === 'sessions' ? location.pathname : `#/${document.body.dataset.view}`);
    this.changed('', inside ? key : '');
    return true;
  }

  // told takes in what the stream tells, and looks again when it concerns the session.
  told(sessions) {
    if (this.wanted && sessions.has(this.wanted)) this.open(sessions.get(this.wanted));
    this.wanted = '';
    const row = this.row && sessions.get(this.row.key);
    if (!this.row || row === this.row) return;
    if (!row) return put(byId('drawer-said'), 'This session is not interrupted any more.');
    this.row = row;
    this.head();
    this.lookSoon(250);
  }

  lookSoon(wait) {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.row) this.look();
    }, wait);
  }

  head() {
    const {project, name, by, tone} = this.row;
    this.dialog.dataset.tone = tone;
    fill(byId('drawer-title'), make('span', project, 'project'), ' · ', make('span', `${name} · ${by}`, 'who'));
    fillOrders(this.dialog, this.row);
  }

  async look() {
    const {key, agent, id} = this.row;
    let seen;
    try {
      seen = await tell(`session?${new URLSearchParams({agent, id})}`);
    } catch (error) {
      if (this.row?.key === key) fill(byId('parts'), make('p', `The details could not be loaded: ${error.message}`));
      return this.said.clear();
    }
    if (this.row?.key !== key) return;
    this.show(seen);
    if (seen.row.running) this.lookSoon(1000); // it goes on writing, and nobody tells
  }

  show(seen) {
    if (!this.said.size) fill(byId('parts'));
    const now = this.now();
    this.part('why', seen.why_not.title, seen.why_not.lines, () => [fill(make('ul', '', 'questions'), seen.why_not.lines.map((line) => make('li', said(line, now))))]);
    this.part('hand', 'Continue it yourself', seen.go_on, () => [make('pre', seen.go_on), copier(seen.go_on)]);
    this.part('facts', '', seen.facts, () => this.facts(seen.facts));
    this.part('time', `The last ${zoom.hours} hours, and the next`, seen.strip.spans.length ? [zoom.hours, seen.strip.spans.length, seen.strip.marks, seen.strip.spans.at(-1).kind] : null, () => full(seen.strip, now));
    this.part('evidence', 'Evidence, in the agent\'s words', seen.evidence, () => [make('pre', seen.evidence)]);
    this.part('backoff', 'How long it waits', seen.backoff && [seen.backoff, seen.row.next_at], () => curve(seen.backoff, seen.row.next_at, now));
    for (const {title, tries} of seen.resumes) this.part(title, title, tries, () => [this.tries(tries)]);
    this.part('runs', 'Output of earlier resumes', seen.runs.filter(({of}) => !of).map(({n}) => n), () => seen.runs.filter(({of}) => !of).map(output));
    seen.runs.forEach((run) => this.wrote(run));
    this.part('steps', 'What was decided, and why', seen.steps, () => [this.steps(seen.steps)]);
    this.part('leash', 'How it will be continued', seen.parts, () => [fill(make('dl', '', 'leash'), seen.parts.flatMap((part) =>
      [make('dt', part.title), ...part.lines.map((line) => make('dd', part.said ? said(line, now) : line))]))]);
    this.part('commands', 'In a terminal', seen.commands, () => [make('pre', seen.commands.join('\n'))]);
    this.tick();
  }

  // part shows one part, and leaves it alone where nothing about it is new: what a person
  // has opened or marked stays.
  part(name, title, data, build) {
    const box = byId('parts');
    let section = [...box.children].find((child) => child.dataset.part === name);
    const empty = !data || data.length === 0;
    if (empty && !section) return;
    if (!section) {
      section = make('section');
      section.dataset.part = name;
      box.append(section);
    }
    section.hidden = empty;
    const text = JSON.stringify(data);
    if (empty || this.said.get(name) === text) return;
    this.said.set(name, text);
    const which = (each, i) => each.dataset.n || `${i}`; // of a run its number: a new one comes before it
    const opened = new Set([...section.querySelectorAll('details')].map((each, i) => each.open && which(each, i)));
    fill(section, title && make('h3', title), build());
    section.querySelectorAll('details').forEach((each, i) => { each.open = opened.has(which(each, i)); });
  }

  facts(facts) {
    this.ticking = [];
    return [fill(make('dl', '', 'facts'), facts.flatMap((fact) => {
      const value = make('dd');
      if (fact.label === 'state') value.className = 'state';
      this.ticking.push([value, fact]);
      return [make('dt', fact.label), value];
    }))];
  }

  tick() {
    if (!this.row) return;
    const now = this.now();
    for (const [element, {text = '', at, until: counted, late, after = '', said: reason}] of this.ticking) {
      put(element, (reason ? said(text, now) : text) + (at ? (counted ? `, ${until(at, now, late)}` : clock(at, now)) : '') + after);
    }
  }

  tries(tries) {
    return fill(make('ol', '', 'lines'), tries.map(({n, at, words, tone, failed, run}) => {
      const line = make('li', '', '', tone);
      line.append(make('span', `${n}. ${at ? clock(at, this.now()) : '?'}`, 'when'), make('span', words, 'what'), make('span', failed || '', 'soft'));
      if (run) line.append(output({n: run}));
      return line;
    }));
  }

  steps(steps) {
    return fill(make('ol', '', 'lines'), steps.map(({at, what, tone, why, next_at: next, failed}) => {
      const line = make('li', '', '', tone);
      line.append(make('span', clock(at, this.now()), 'when'), make('span', what + (next ? `, until ${clock(next, this.now())}` : ''), 'what'),
        make('span', because(said(why, this.now()), failed), 'soft'));
      return line;
    }));
  }

  // wrote shows what a resume has written. One that runs goes on writing: its text changes
  // in its place.
  wrote({n, of, began, words, text, cut}) {
    const details = byId('parts').querySelector(`[data-n="${n}"]`);
    put(details.querySelector('summary'), of ? `output: ${words || '?'}` : [`resume ${n}`, began && clock(began, this.now()), words].filter(Boolean).join(', '));
    put(details.querySelector('pre'), (cut ? '… the beginning is left out\n' : '') + (text || 'No output.'));
  }
}

// output is where the output of a resume goes.
function output({n}) {
  const details = make('details', '', 'run');
  details.dataset.n = n;
  details.append(make('summary'), make('pre'));
  return details;
}

// copier copies a command, if the browser lets a page do that.
function copier(text) {
  if (!canCopy) return null;
  const button = make('button', 'Copy');
  button.type = 'button';
  button.addEventListener('click', () => copy(text, byId('drawer-said')));
  return button;
}
