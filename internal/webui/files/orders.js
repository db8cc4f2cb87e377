// Orders: what a person wants done with sessions and tasks. The stream shows what comes of them.
import {question} from './ask.js';
import {make, put} from './dom.js';
import {tell} from './door.js';
import {clock, count, said} from './words.js';

const atOnce = 50; // sessions that one request may name
const verbs = {retry: 'Retry', cancel: 'Cancel', pause: 'Pause', unpause: 'Unpause', drop: 'Remove'};

const called = (rows) => (rows.length === 1 ? rows[0].project : count(rows.length, 'session'));

// waits reports whether a retry would come before the time that the page shows: of a task, or of a session of another host.
const waits = (order, [{away, n, next_at: next}], now) => order === 'retry' && (away || n) && Date.parse(next) > now;

// sure asks where an order cannot be taken back, or is more than it looks like.
function sure(order, rows, now) {
  const unseen = rows.filter((row) => row.retry).length, [{n, next_at: next}] = rows;
  if (order === 'drop') return question(`Remove ${called(rows)} from the queue?`, 'Remove', 'Keep it');
  if (order === 'cancel') return question(`Cancel ${called(rows)}? ${rows.length === 1 ? 'It' : 'They'} will not be continued after this limit. Retry undoes that.`, `Stop waiting for ${rows.length === 1 ? 'it' : 'them'}`, 'Keep waiting');
  if (order === 'retry' && unseen) {
    return question(`The start of ${unseen === rows.length ? called(rows) : `${unseen} of ${called(rows)}`} was not seen, so its own flags and permissions are not known.`, rows.find((row) => row.retry).retry, 'Leave it');
  }
  if (waits(order, rows, now)) return question(`${called(rows)} waits until ${clock(next, now)}. ${n ? 'Start' : 'Resume'} it now all the same?`, n ? 'Start now' : 'Resume now', 'Keep waiting');
  if (rows.length > 1) return question(`${verbs[order]} ${called(rows)}?`, verbs[order], 'Do nothing');
  return true;
}

async function send(order, rows, now) {
  const all = {early: [], until: '', said: []};
  for (let i = 0; i < rows.length; i += atOnce) {
    const some = rows.slice(i, i + atOnce), body = new URLSearchParams(some.flatMap(({agent, id}) => [['agent', agent], ['id', id]]));
    if (now) body.set('now', '1');
    if (rows[0].away) body.set('host', rows[0].host); // one at a time
    const got = await tell(`session/${order}`, {method: 'POST', body});
    all.early.push(...(got.early || []));
    all.until ||= got.until || '';
    if (got.said) all.said.push(got.said);
  }
  return all;
}

// early asks about sessions whose provider asked to wait longer: nothing was done for them.
function early(rows, until, now) {
  const text = said(until, now), whole = `${text[0].toUpperCase()}${text.slice(1)}${rows.length > 1 ? ` (${rows.length} sessions)` : ''}.`;
  return question(`${whole} Resume ${called(rows)} now all the same?`, 'Resume now', 'Keep waiting');
}

// give gives an order for sessions; tells is where it is said what comes of it, and of which verb.
export async function give(order, rows, {now, tells, verb = verbs[order]}) {
  const at = now();
  if (!rows.length || !await sure(order, rows, at)) return;
  const what = `${verb} ${called(rows)}`;
  put(tells, `${what} …`);
  try {
    const first = await send(order, rows, waits(order, rows, at)), wait = rows.filter(({key}) => first.early.includes(key));
    if (wait.length) {
      if (await early(wait, first.until, now())) first.said.push(...(await send(order, wait, true)).said);
      else first.said.push(wait.length === rows.length ? 'nothing was done' : `nothing was done for ${count(wait.length, 'session')}`);
    }
    put(tells, `${what}: ${said(first.said.join('; '), now())}`);
  } catch (error) {
    put(tells, `${what}: ${said(error.message, now())}`);
  }
}

// orderButtons makes the buttons of a line: orders has the text of each. done is told when one was given.
export function orderButtons(row, orders, {now, tells, done}) {
  const box = make('div', '', 'orders');
  for (const [order, text] of Object.entries(orders)) {
    const button = make('button', text);
    button.type = 'button';
    button.setAttribute('aria-label', `${text} ${row.project}`);
    button.addEventListener('click', async () => {
      await give(order, [row], {now, tells, verb: text});
      done();
    });
    box.append(button);
  }
  return box;
}
