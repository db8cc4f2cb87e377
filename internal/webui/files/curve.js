// How long is waited before each resume: the range that chance leaves, and where a
// session stands.
import {draw, fill, make} from './dom.js';
import {clock, span} from './words.js';

const shown = 60; // waits that the daemon tells at most: there may be more
const fewest = 8; // bars that there is room for: two are no wall
const words = (seconds) => span(seconds * 1000);

// between says a range.
const between = ({min_seconds: least, max_seconds: most}) => (words(least) === words(most) ? words(least) : `${words(least)} to ${words(most)}`);

// stands says which wait it is, and how long that may be.
function stands({waits, next, stated}, until, now) {
  if (stated) return `The provider named a time: it waits until ${clock(stated, now)}. These waits are used after that.`;
  const here = waits[Math.min(next, waits.length) - 1], open = waits.length >= shown;
  if (next > waits.length && !open) return waits.length === 1 ? 'The only wait is over.' : `All ${waits.length} waits are over.`;
  return `Wait ${next}${open ? '' : ` of ${waits.length}`}: ${between(here)}${until ? `, until ${clock(until, now)}` : ''}.`;
}

// bars draws waits: what is always waited, and on it what is left to chance. All places are
// shares of the picture, in percent.
function bars(waits, {next, stated}, most) {
  const svg = draw('svg', {'aria-hidden': 'true', focusable: 'false'});
  const slot = 100 / Math.max(waits.length, fewest), y = (seconds) => 100 - seconds / most * 100;
  for (const part of [0, 50]) svg.append(draw('line', {class: 'grid', x1: 0, x2: '100%', y1: `${part}%`, y2: `${part}%`}));
  waits.forEach((wait, i) => {
    const at = stated ? '' : wait.attempt === next ? ' here' : wait.attempt < next ? ' over' : '';
    const bar = (className, top, height) => draw('rect', {class: className + at, x: `${(i + .1) * slot}%`, width: `${slot * .8}%`, y: `${top}%`, height: `${height}%`});
    const middle = `${(i + .5) * slot}%`;
    if (at === ' here') svg.append(draw('line', {class: 'now', x1: middle, x2: middle, y1: 0, y2: `${y(wait.max_seconds)}%`}));
    svg.append(bar('wait', y(wait.min_seconds), 100 - y(wait.min_seconds)), bar('range', y(wait.max_seconds), Math.max(1, y(wait.min_seconds) - y(wait.max_seconds))));
  });
  return svg;
}

// table says the same in words; waits that follow each other and are equal are one line.
function table({waits, next, stated}) {
  const lines = [];
  for (const wait of waits) {
    const here = !stated && wait.attempt === next, last = lines.at(-1);
    if (last && !here && !last.here && last.long === between(wait)) last.to = wait.attempt;
    else lines.push({from: wait.attempt, to: wait.attempt, long: between(wait), here});
  }
  const head = fill(make('tr'), ['Resume', 'Waits', ''].map((text) => (text ? make('th', text) : make('td'))));
  const rows = lines.map(({from, to, long, here}) => fill(make('tr'), [from === to ? `${from}` : `${from} to ${to}`, long, here ? 'here' : ''].map((text) => make('td', text))));
  return fill(make('details', '', 'as-table'), make('summary', 'As a table'), fill(make('table'), fill(make('thead'), head), fill(make('tbody'), rows)));
}

// growing returns the waits until they stay the same, and a few more: sixty equal bars tell nothing.
function growing({waits, next}) {
  const same = waits.findIndex((wait) => between(wait) === between(waits.at(-1)));
  return waits.slice(0, Math.max(same + 3, next + 1));
}

// captions says how the picture is read.
function captions(told, drawn) {
  const all = [];
  if (drawn.some((wait) => wait.min_seconds < wait.max_seconds)) all.push('The upper part of a wait is left to chance.');
  if (!told.stated && drawn.some((wait) => wait.attempt === told.next)) all.push('The line marks the wait that counts now.');
  if (drawn.length < told.waits.length) all.push('All later ones are like the last.');
  return all.join(' ');
}

export function curve(told, until, now) {
  const drawn = growing(told), most = Math.max(...told.waits.map((wait) => wait.max_seconds), 1);
  const scale = fill(make('div', '', 'scale'), [most, most / 2, 0].map((seconds) => make('span', words(seconds))));
  scale.ariaHidden = true;
  const picture = fill(make('div', '', 'curve'), scale, bars(drawn, told, most), make('p', captions(told, drawn), 'under'));
  return [make('p', `${told.policy}. ${stands(told, until, now)}`), picture, table(told)];
}
