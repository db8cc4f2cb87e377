// Time as a picture: the last 24 hours and the next ones. The daemon says what there is to
// see; here it is drawn.
import {draw, fill, make} from './dom.js';
import {tell} from './door.js';
import {clock} from './words.js';

const wide = 1000, high = 20;
const tops = {limited: 0, outage: 0, stopped: 0, waiting: 5, resuming: 5, working: 12, unknown: 18, away: 0}; // told apart without colours too
const atOnce = 64; // strips that one request may ask for
const old = 5 * 60 * 1000; // when a strip is drawn anew though nothing changed

// place returns where on the picture a time is.
export function place(strip, time) {
  const from = Date.parse(strip.from), to = Date.parse(strip.to);
  return Math.min(wide, Math.max(0, (Date.parse(time) - from) / (to - from) * wide));
}

function line(x, top, end, className, tone = '') {
  const element = draw('line', {x1: x, x2: x, y1: top, y2: end, class: className});
  if (tone) element.dataset.tone = tone;
  return element;
}

// picture draws a strip.
export function picture(strip) {
  const svg = draw('svg', {viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false'});
  for (const {kind, words, from, to, expected} of [...strip.spans, ...strip.away]) {
    const x = place(strip, from), width = Math.max(1.5, place(strip, to) - x);
    const rect = (className) => draw('rect', {x, width, y: tops[kind], height: high - tops[kind], class: className});
    const part = draw('g', {}, rect(`span ${kind}${expected ? ' expected' : ''}`));
    if (kind === 'outage' || kind === 'away') part.append(rect('hatched'));
    part.append(draw('title', {}, words));
    svg.append(part);
  }
  for (const {kind, tone, at} of strip.marks) svg.append(line(place(strip, at), 0, kind === 'resume' ? 11 : high, `mark ${kind}`, tone));
  svg.append(line(place(strip, strip.now), 0, high, 'now'));
  return svg;
}

// axis says what times a picture shows.
function axis(strip, now) {
  const from = Date.parse(strip.from), step = (Date.parse(strip.to) - from) / 4;
  const labels = [0, 1, 2, 3, 4].map((i) => make('span', i === 2 ? 'now' : clock(from + i * step, now, false)));
  return fill(make('div', '', 'axis'), labels);
}

const legend = [['working', 'works'], ['limited', 'limited'], ['waiting', 'waits'], ['outage', 'outage'], ['resuming', 'being resumed'], ['stopped', 'needs you'],
  ['unknown', 'not known'], ['away', 'no daemon ran']];

function explained(strip) {
  const seen = new Set([...strip.spans, ...strip.away].map(({kind}) => kind));
  const lines = legend.filter(([kind]) => seen.has(kind)).map(([kind, words]) => {
    const item = make('li');
    item.append(make('span', '', `swatch ${kind}`), words);
    return item;
  });
  for (const {kind, tone, words} of new Map(strip.marks.map((mark) => [mark.words, mark])).values()) {
    const item = make('li');
    item.append(make('span', '', `swatch line ${kind}`, tone), words);
    lines.push(item);
  }
  return fill(make('ul', '', 'legend'), lines);
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

// full draws a strip with all that explains it.
export const full = (strip, now) => [fill(make('div', '', 'strip large'), picture(strip)), axis(strip, now), explained(strip), table(strip, now)];

// Strips asks for the strips of what can be seen, and keeps them.
export class Strips {
  constructor(now) {
    Object.assign(this, {now, kept: new Map(), wanted: new Map(), timer: null, said: '', saidAt: 0});
  }

  // want draws the strips of rows, and asks for those that are not known.
  want(items) {
    this.wanted.clear();
    for (const item of items) {
      if (item.strip.checkVisibility && !item.strip.checkVisibility()) continue;
      const known = this.kept.get(item.row.key);
      if (known && item.drawn !== known.strip) {
        item.drawn = known.strip;
        fill(item.strip, picture(known.strip));
      }
      if (!known || known.row !== item.row || Date.now() - known.at > old) this.wanted.set(item.row.key, item);
    }
    if (this.wanted.size) this.timer ??= setTimeout(() => this.fetch(), 120);
  }

  async fetch() {
    const items = [...this.wanted.values()].slice(0, atOnce);
    const query = new URLSearchParams(items.flatMap(({row}) => [['agent', row.agent], ['id', row.id]]));
    try {
      const strips = new Map((await tell(`/strips?${query}`)).map((strip) => [strip.key, strip]));
      if (this.kept.size > 2000) this.kept.clear();
      for (const {row} of items) {
        const strip = strips.get(row.key);
        if (strip) this.kept.set(row.key, {row, strip, at: Date.now()});
      }
    } catch { /* the next look asks again */ }
    this.timer = null;
    if (items.length) this.want([...new Set([...items, ...this.wanted.values()])].filter(({element}) => element.isConnected));
  }

  // wantAccounts draws the strips of accounts, when these stand otherwise than before.
  // places returns where they go; it is asked when they are there.
  async wantAccounts(places, said) {
    this.wantedAccounts = said;
    if (this.busy || (said === this.said && Date.now() - this.saidAt < old)) return;
    Object.assign(this, {busy: true, said, saidAt: Date.now()});
    try {
      const strips = await tell('/strips/accounts'), where = places();
      for (const strip of strips) if (where.has(strip.key)) fill(where.get(strip.key), full(strip, this.now()));
    } catch {
      this.said = '';
    }
    setTimeout(() => { // who changes all the time is not asked all the time
      this.busy = false;
      if (this.wantedAccounts !== this.said) this.wantAccounts(places, this.wantedAccounts);
    }, 2000);
  }
}
