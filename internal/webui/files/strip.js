// Time as a picture: some hours back and ahead. The daemon says what there is to see; here it
// is drawn.
import {byId, draw, fill, make} from './dom.js';
import {tell} from './door.js';
import {clock} from './words.js';

const tops = {limited: 0, outage: 0, stopped: 0, waiting: 25, resuming: 25, working: 60, unknown: 90, away: 0}; // told apart without colours too
const atOnce = 64; // strips that one request may ask for
const old = 5 * 60 * 1000; // when a strip is drawn anew though nothing changed
const hour = 60 * 60 * 1000;
const zooms = [1, 6, 24]; // hours to each side; the daemon tells no more

// zoom is how many hours a strip shows to each side.
export const zoom = {hours: zooms.includes(Number(window.stored.get('zoom'))) ? Number(window.stored.get('zoom')) : 6};

// place returns where on the picture a time is, which may be beyond it. All places are shares of its
// size, in percent: lines and stripes are then as wide on a phone as on a wide screen.
const place = (strip, time) => 50 + (Date.parse(time) - Date.parse(strip.now)) / (zoom.hours * hour) * 50;

const within = (x) => Math.min(100, Math.max(0, x));

function line(x, end, className, tone = '', words = '') {
  const element = draw('line', {x1: `${x}%`, x2: `${x}%`, y1: 0, y2: `${end}%`, class: className});
  if (tone) element.dataset.tone = tone;
  if (words) element.append(draw('title', {}, words));
  return element;
}

// picture draws a strip. What each part means is said where the pointer rests.
export function picture(strip, now) {
  const svg = draw('svg', {'aria-hidden': 'true', focusable: 'false'});
  svg.append(line(25, 100, 'grid'), line(75, 100, 'grid'));
  for (const {kind, words, from, to, expected} of [...strip.spans, ...strip.away]) {
    const x = within(place(strip, from)), end = within(place(strip, to));
    if (place(strip, to) < 0 || place(strip, from) > 100) continue;
    const rect = (className) => draw('rect', {x: `${x}%`, width: `${Math.max(.4, end - x)}%`, y: `${tops[kind]}%`, height: `${100 - tops[kind]}%`, class: className});
    const part = draw('g', {}, rect(`span ${kind}${expected ? ' expected' : ''}`));
    if (kind === 'outage' || kind === 'away') part.append(rect('hatched'));
    part.append(draw('title', {}, `${words}${expected ? ', expected' : ''}: ${clock(from, now, false)} to ${clock(to, now, false)}`));
    svg.append(part);
  }
  for (const {kind, tone, at, words} of strip.marks) {
    const x = place(strip, at);
    if (x >= 0 && x <= 100) svg.append(line(x, kind === 'resume' ? 55 : 100, `mark ${kind}`, tone, `${words}: ${clock(at, now)}`));
  }
  svg.append(line(50, 100, 'now'));
  return svg;
}

// axis says what times a picture shows.
function axis(strip, now) {
  const labels = [-1, -.5, 0, .5, 1].map((i) => make('span', i === 0 ? 'now' : clock(Date.parse(strip.now) + i * zoom.hours * hour, now, false)));
  return fill(make('div', '', 'axis'), labels);
}

const legend = [['working', 'not stopped'], ['limited', 'limited'], ['waiting', 'waits'], ['outage', 'outage'], ['resuming', 'being resumed'], ['stopped', 'needs you'],
  ['unknown', 'not known'], ['away', 'no daemon ran']];
const lines = [['resume', 'good', 'a resume that worked'], ['resume', 'bad', 'one that did not'], ['reset', 'good', 'the limit lifts'], ['next', 'busy', 'next resume'], ['end', 'bad', 'gives up']];

// showLegend says what strips show.
export function showLegend(box) {
  const item = (className, tone, words) => {
    const element = make('li');
    element.append(make('span', '', `swatch ${className}`, tone), words);
    return element;
  };
  fill(box, legend.map(([kind, words]) => item(kind, '', words)), lines.map(([kind, tone, words]) => item(`tick ${kind}`, tone, words)));
}

// watchZoom shows the buttons that choose how much time strips show; changed is told so.
export function watchZoom(changed) {
  const box = byId('zoom'), buttons = zooms.map((hours) => {
    const button = make('button', `±${hours} h`);
    button.type = 'button';
    button.addEventListener('click', () => {
      zoom.hours = hours;
      window.stored.set('zoom', String(hours));
      show();
      changed();
    });
    return button;
  });
  const show = () => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', zooms[i] === zoom.hours));
    fill(document.querySelector('#columns .axis'), [`−${zoom.hours} h`, 'now', `+${zoom.hours} h`].map((text) => make('span', text)));
  };
  fill(box, buttons);
  show();
}

// table says in words what a picture shows.
export function table(strip, now) {
  const rows = [...[...strip.spans, ...strip.away].map(({from, to, words, expected}) => [from, to, expected ? `${words}, expected` : words]),
    ...strip.marks.map(({at, words, times}) => [at, '', times ? `${words}, ${times} times` : words])].sort((a, b) => Date.parse(a[0]) - Date.parse(b[0]));
  const body = make('tbody'), head = make('tr');
  fill(head, ['From', 'To', 'What'].map((text) => {
    const cell = make('th', text);
    cell.scope = 'col';
    return cell;
  }));
  fill(body, rows.map(([from, to, words]) => fill(make('tr'),
    [clock(from, now), to && clock(to, now), words].map((text) => make('td', text)))));
  const whole = make('table'), top = make('thead');
  top.append(head);
  whole.append(top, body);
  const details = make('details', '', 'as-table');
  details.append(make('summary', 'As a table'), whole);
  return details;
}

const large = (strip, now) => [fill(make('div', '', 'strip large'), picture(strip, now)), axis(strip, now)];

// full draws a strip with its times, and says the same in words.
export const full = (strip, now) => [...large(strip, now), table(strip, now)];

// Strips asks for the strips of what can be seen, and keeps them.
export class Strips {
  constructor(now) {
    Object.assign(this, {now, kept: new Map(), wanted: new Map(), timer: null, items: [], said: '', saidAt: 0, accounts: [], places: () => new Map()});
  }

  // want draws the strips of rows, and asks for those that are not known.
  want(items) {
    this.wanted.clear();
    for (const item of items) {
      if (item.strip.checkVisibility && !item.strip.checkVisibility()) continue;
      const known = this.kept.get(item.row.key);
      if (known && (item.drawn !== known.strip || item.zoom !== zoom.hours)) {
        Object.assign(item, {drawn: known.strip, zoom: zoom.hours});
        fill(item.strip, picture(known.strip, this.now()));
      }
      if (!known || known.row !== item.row || Date.now() - known.at > old) this.wanted.set(item.row.key, item);
    }
    this.items = items;
    if (this.wanted.size) this.timer ??= setTimeout(() => this.fetch(), 120);
  }

  // redraw draws all strips anew, after the zoom has changed.
  redraw() {
    this.want(this.items);
    this.drawAccounts();
  }

  async fetch() {
    const items = [...this.wanted.values()].slice(0, atOnce);
    if (!items.length) { // the list has become too narrow for them meanwhile
      this.timer = null;
      return;
    }
    const query = new URLSearchParams(items.flatMap(({row}) => [['agent', row.agent], ['id', row.id]]));
    try {
      const strips = new Map((await tell(`strips?${query}`)).map((strip) => [strip.key, strip]));
      if (this.kept.size > 2000) this.kept.clear();
      for (const {row} of items) {
        const strip = strips.get(row.key);
        if (strip) this.kept.set(row.key, {row, strip, at: Date.now()});
      }
    } catch { /* the next look asks again */ }
    this.timer = null;
    this.want([...new Set([...items, ...this.items])].filter(({element}) => element.isConnected));
  }

  drawAccounts() {
    const where = this.places(), now = this.now();
    for (const strip of this.accounts) if (where.has(strip.key)) fill(where.get(strip.key), full(strip, now));
  }

  // wantAccounts draws the strips of accounts that a person has opened, when these stand otherwise
  // than before. places returns where they go.
  async wantAccounts(places, said) {
    Object.assign(this, {places, wantedAccounts: said});
    if (!places().size || this.busy) return;
    if (said === this.said && Date.now() - this.saidAt < old) return this.drawAccounts();
    Object.assign(this, {busy: true, said, saidAt: Date.now()});
    try {
      this.accounts = await tell('strips/accounts');
      this.drawAccounts();
    } catch {
      this.said = '';
    }
    setTimeout(() => { // one that changes all the time is not asked for all the time
      this.busy = false;
      if (this.wantedAccounts !== this.said) this.wantAccounts(places, this.wantedAccounts);
    }, 2000);
  }
}
