// Time as a picture: the last 24 hours and the next ones. The daemon says what there is to
// see; here it is drawn.
import {byId, draw, fill, make} from './dom.js';
import {tell} from './door.js';
import {clock} from './words.js';

const tops = {limited: 0, outage: 0, stopped: 0, waiting: 25, resuming: 25, working: 60, unknown: 90, away: 0}; // told apart without colours too
const atOnce = 64; // strips that one request may ask for
const old = 5 * 60 * 1000; // when a strip is drawn anew though nothing changed

// place returns where on the picture a time is. All places are shares of its size, in percent:
// lines and stripes are then as wide on a phone as on a wide screen.
function place(strip, time) {
  const from = Date.parse(strip.from), to = Date.parse(strip.to);
  return Math.min(100, Math.max(0, (Date.parse(time) - from) / (to - from) * 100));
}

function line(x, end, className, tone = '') {
  const element = draw('line', {x1: `${x}%`, x2: `${x}%`, y1: 0, y2: `${end}%`, class: className});
  if (tone) element.dataset.tone = tone;
  return element;
}

// picture draws a strip.
export function picture(strip) {
  const svg = draw('svg', {'aria-hidden': 'true', focusable: 'false'});
  svg.append(line(25, 100, 'grid'), line(75, 100, 'grid'));
  for (const {kind, words, from, to, expected} of [...strip.spans, ...strip.away]) {
    const x = place(strip, from), width = Math.max(.2, place(strip, to) - x);
    const rect = (className) => draw('rect', {x: `${x}%`, width: `${width}%`, y: `${tops[kind]}%`, height: `${100 - tops[kind]}%`, class: className});
    const part = draw('g', {}, rect(`span ${kind}${expected ? ' expected' : ''}`));
    if (kind === 'outage' || kind === 'away') part.append(rect('hatched'));
    part.append(draw('title', {}, words));
    svg.append(part);
  }
  for (const {kind, tone, at} of strip.marks) svg.append(line(place(strip, at), kind === 'resume' ? 55 : 100, `mark ${kind}`, tone));
  svg.append(line(place(strip, strip.now), 100, 'now'));
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

// explained says what strips show, of all together once.
function explained(...strips) {
  const seen = new Set(strips.flatMap(({spans, away}) => [...spans, ...away]).map(({kind}) => kind));
  const lines = legend.filter(([kind]) => seen.has(kind)).map(([kind, words]) => {
    const item = make('li');
    item.append(make('span', '', `swatch ${kind}`), words);
    return item;
  });
  for (const {kind, tone, words} of new Map(strips.flatMap(({marks}) => marks).map((mark) => [mark.words, mark])).values()) {
    const item = make('li');
    item.append(make('span', '', `swatch line ${kind}`, tone), words);
    lines.push(item);
  }
  return lines;
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

const large = (strip, now) => [fill(make('div', '', 'strip large'), picture(strip)), axis(strip, now)];

// full draws a strip with all that explains it.
export const full = (strip, now) => [...large(strip, now), fill(make('ul', '', 'legend'), explained(strip)), table(strip, now)];

// Strips asks for the strips of what can be seen, and keeps them.
export class Strips {
  constructor(now) {
    Object.assign(this, {now, kept: new Map(), wanted: new Map(), timer: null, said: '', saidAt: 0, accounts: [], items: [], explained: ''});
  }

  // explain says under the accounts what the strips on the page show.
  explain(items) {
    const shown = [...this.accounts, ...items.map(({drawn}) => drawn).filter(Boolean)];
    const kinds = shown.flatMap(({spans, away, marks}) => [...spans.map(({kind}) => kind), ...away.map(({kind}) => kind), ...marks.map(({words}) => words)]);
    const said = [...new Set(kinds)].sort().join('\n');
    if (said === this.explained) return;
    this.explained = said;
    fill(byId('key'), shown.length && make('li', 'The strips show 24 hours back and 24 ahead:'), explained(...shown));
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
    this.items = items;
    this.explain(items);
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
      this.accounts = strips.filter(({key}) => where.has(key));
      for (const strip of this.accounts) fill(where.get(strip.key), large(strip, this.now()), table(strip, this.now()));
      this.explain(this.items);
    } catch {
      this.said = '';
    }
    setTimeout(() => { // who changes all the time is not asked all the time
      this.busy = false;
      if (this.wantedAccounts !== this.said) this.wantAccounts(places, this.wantedAccounts);
    }, 2000);
  }
}
