// How long is waited before each resume: the range that chance leaves, and where a
// session stands.
import {draw, fill, make} from './dom.js';
import {clock, span} from './words.js';

const high = 60;
const words = (seconds) => span(seconds * 1000);

// between says a range.
const between = ({min_seconds: least, max_seconds: most}) => (words(least) === words(most) ? words(least) : `${words(least)} to ${words(most)}`);

export function curve({policy, waits, next, stated}, now) {
  const most = Math.max(...waits.map((wait) => wait.max_seconds), 1);
  const y = (seconds) => high - seconds / most * (high - 4);
  const svg = draw('svg', {viewBox: `0 0 ${Math.max(waits.length, 12) * 20} ${high}`, preserveAspectRatio: 'none', class: 'curve', 'aria-hidden': 'true', focusable: 'false'});
  waits.forEach((wait, i) => {
    const x = i * 20, at = wait.attempt === next ? ' here' : wait.attempt < next ? ' over' : '';
    svg.append(
      draw('rect', {x: x + 2, width: 16, y: y(wait.base_seconds), height: high - y(wait.base_seconds), class: `wait${at}`}),
      draw('rect', {x: x + 2, width: 16, y: y(wait.max_seconds), height: Math.max(1, y(wait.min_seconds) - y(wait.max_seconds)), class: `range${at}`}));
  });
  const here = waits.find((wait) => wait.attempt === next);
  let stands = `All ${waits.length} waits are over.`;
  if (here) stands = `Wait ${next} of ${waits.length}: ${between(here)}.`;
  if (stated) stands = `The provider named a time: it waits until ${clock(stated, now)}. These waits are used after that.`;
  const rows = waits.map((wait) => fill(make('tr'), [String(wait.attempt), between(wait), wait.attempt === next ? 'here' : ''].map((text) => make('td', text))));
  const head = fill(make('tr'), ['Resume', 'Waits', ''].map((text) => (text ? make('th', text) : make('td'))));
  const table = fill(make('table'), fill(make('thead'), head), fill(make('tbody'), rows));
  const details = fill(make('details', '', 'as-table'), make('summary', 'As a table'), table);
  return [make('p', `${policy}. ${stands}`), svg, details];
}
