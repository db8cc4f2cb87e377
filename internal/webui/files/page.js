// What the daemon tells is shown as text, never as markup.
'use strict';

const byId = (id) => document.getElementById(id);
const sessions = new Map(); // key → {row, element}
const few = 200; // sessions that are drawn at once: many would keep a person waiting for the first
let room = few;
let daemon = null;
let ahead = 0; // the daemon's clock over this one's, in milliseconds
let heard = 0; // when the daemon last said anything
let listening = new AbortController(); // ends the stream that is read

// What lets the page in: first the token of its link, then a key. That is kept for
// this tab and this port alone; a cookie would be sent to every port.
let token = new URLSearchParams(location.search).get('token');
let key = '';
try {
  key = sessionStorage.getItem('key') || '';
} catch { /* a browser that keeps nothing shows the page until it is reloaded */ }

function keep(text) {
  key = text;
  try {
    sessionStorage.setItem('key', text);
  } catch { /* likewise */ }
}

const ask = (path, options) => fetch(path, {...options, headers: {Authorization: `Bearer ${key}`}});

const now = () => Date.now() + ahead;

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function make(tag, text, className = '', tone = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  if (tone) element.dataset.tone = tone;
  return element;
}

function span(milliseconds) {
  const s = Math.max(0, Math.ceil(milliseconds / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor(s % 3600 / 60)}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor(s % 86400 / 3600)}h`;
}

// Made once: there may be ten thousand countdowns.
const today = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit'});
const otherDay = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', day: 'numeric', month: 'short'});

function clock(time) {
  const at = new Date(time), here = new Date(now());
  return (at.toDateString() === here.toDateString() ? today : otherDay).format(at);
}

function until(time) {
  const left = new Date(time) - now();
  return left > 0 ? `in ${span(left)}, ${clock(time)}` : 'due now';
}

// draw makes a session's element.
function draw(known) {
  const element = byId('session').content.firstElementChild.cloneNode(true);
  element.addEventListener('click', (event) => {
    const order = event.target.dataset.order;
    if (order) command(event.target, `/session/${order}`, known.row);
  });
  element.querySelector('.leash').addEventListener('toggle', (event) => {
    if (event.target.open) showLeash(known);
  });
  // A countdown that nobody can see need not tick.
  element.addEventListener('contentvisibilityautostatechange', (event) => {
    known.away = event.skipped;
    if (known.away) put(known.next, ''); // it may have ticked before that was known
    else tickSession(known);
  });
  Object.assign(known, {element, next: element.querySelector('.next')});
}

// showLeash asks what the session was started with, and what the next resume would
// run: that is found out only for who wants to see it.
async function showLeash(known) {
  const list = known.element.querySelector('.leash dl');
  try {
    const answer = await ask(`/leash?${new URLSearchParams({agent: known.row.agent, id: known.row.id})}`);
    const parts = answer.ok ? await answer.json() : [{title: 'It cannot be told', lines: [await answer.text()]}];
    list.replaceChildren(...parts.flatMap((part) => [make('dt', part.title), ...part.lines.map((line) => make('dd', line))]));
  } catch {
    list.replaceChildren(make('dt', 'The daemon does not answer'));
  }
}

function showSession(known) {
  if (!known.element) draw(known);
  if (known.shown === known.row) return;
  const row = known.shown = known.row;
  const part = (selector) => known.element.querySelector(selector);
  known.element.dataset.tone = row.tone;
  known.element.dataset.key = row.key;
  put(part('.state'), row.state);
  put(part('.project'), row.project);
  part('.project').title = row.cwd;
  put(part('.who'), [row.by, row.name, `try ${row.tries}`, row.owner].filter(Boolean).join(' · '));
  part('.who').title = row.id;
  put(part('.why'), row.why);
  part('.why').title = row.text || '';
  put(part('.tries summary'), row.attempts.length === 1 ? '1 resume so far' : `${row.attempts.length} resumes so far`);
  part('.tries').hidden = row.attempts.length === 0;
  part('ol').replaceChildren(...row.attempts.map((a) =>
    make('li', `${a.n}. ${a.at ? clock(a.at) : ''} ${a.outcome}${a.error ? ': ' + a.error : ''}`)));

  const pause = part('[data-order=pause], [data-order=unpause]');
  pause.dataset.order = row.paused ? 'unpause' : 'pause';
  put(pause, row.paused ? 'Unpause' : 'Pause');
  part('[data-order=retry]').disabled = row.idle || row.running;
  part('[data-order=cancel]').disabled = row.idle;
  for (const button of known.element.querySelectorAll('button')) {
    button.setAttribute('aria-label', `${button.textContent} ${row.project}, ${row.by} ${row.name}`);
  }
}

// arrange puts first what needs a person, and keeps the focus where it is.
function arrange() {
  const order = [...sessions.values()].sort(({row: a}, {row: b}) => a.rank - b.rank ||
    new Date(a.next_at || 0) - new Date(b.next_at || 0) || (a.key < b.key ? -1 : 1));
  const list = byId('sessions'), focus = document.activeElement;
  let here = list.firstElementChild;
  for (const known of order.slice(0, room)) {
    showSession(known);
    if (known.element === here) here = here.nextElementSibling;
    else list.insertBefore(known.element, here);
  }
  while (here) {
    const gone = here;
    here = here.nextElementSibling;
    gone.remove();
  }
  if (focus !== document.activeElement && list.contains(focus)) focus.focus();
  if (room < order.length) {
    room *= 2;
    setTimeout(arrange);
  }
}

function showDaemon() {
  byId('pause').hidden = false;
  put(byId('pause'), daemon.paused ? 'Unpause all' : 'Pause all');
  put(byId('config'), daemon.config ? `configuration: ${daemon.config}, read ${clock(daemon.loaded_at)}` : 'configuration: built-in defaults');
  const notes = [];
  if (daemon.paused) notes.push(['still', 'Paused: nothing is started.']);
  if (daemon.dry_run) notes.push(['still', 'Dry run: nothing is ever started.']);
  if (daemon.config_error) notes.push(['bad', `The newest configuration is not in force:\n${daemon.config_error}`]);
  for (const problem of daemon.problems) notes.push(['bad', problem]);
  if (byId('notes').dataset.said === JSON.stringify(notes)) return; // an alert is read out once
  byId('notes').dataset.said = JSON.stringify(notes);
  byId('notes').replaceChildren(...notes.map(([tone, text]) => make('p', text, 'note', tone)));
}

function showAccounts(accounts) {
  byId('accounts-section').hidden = accounts.length === 0;
  byId('accounts').replaceChildren(...accounts.map((a) => {
    const line = make('li', '', '', a.tone), limit = make('span', a.state, 'limit');
    if (a.reset_at) Object.assign(limit.dataset, {until: a.reset_at, words: a.state});
    line.append(make('span', a.name), limit, make('span', a.sessions, 'count'));
    return line;
  }));
}

function tickSession({row, next, away}) {
  if (next && !away) put(next, row.next_at ? until(row.next_at) : '');
}

function tick() {
  if (!daemon) return;
  sessions.forEach(tickSession);
  for (const limit of document.querySelectorAll('[data-until]')) {
    const left = new Date(limit.dataset.until) > now();
    put(limit, limit.dataset.words + (left ? `, lifts ${until(limit.dataset.until)}` : ''));
  }
  put(byId('daemon'), `${daemon.line}, up ${span(now() - new Date(daemon.started_at))}`);
}

function show(update) {
  ahead = new Date(update.now) - Date.now();
  daemon = update.daemon;
  if (update.whole) {
    const listed = new Set(update.rows.map((row) => row.key));
    for (const key of [...sessions.keys()]) if (!listed.has(key)) sessions.delete(key);
  }
  for (const key of update.gone || []) sessions.delete(key);
  for (const row of update.rows) sessions.set(row.key, Object.assign(sessions.get(row.key) || {}, {row}));
  arrange();
  showDaemon();
  showAccounts(update.accounts);
  byId('empty').hidden = sessions.size > 0;
  const needy = [...sessions.values()].filter(({row}) => row.tone === 'bad').length;
  document.title = needy ? `(${needy}) resumed` : 'resumed';
  tick();
}

function connection(tone, text) {
  byId('link').dataset.tone = tone;
  put(byId('link'), text);
}

// enter gives the token of the link for a key. The address that stays in the
// browser does not have it.
async function enter() {
  if (token === null) return;
  const answer = await fetch('/enter', {method: 'POST', body: new URLSearchParams({token})});
  history.replaceState(null, '', location.pathname);
  token = null;
  if (answer.ok) keep(await answer.text());
  else put(byId('old-link'), 'The link that you followed is too old, or was used before. ');
}

// hear takes one event of the stream.
function hear(event) {
  heard = Date.now();
  connection('good', 'live');
  const field = (name) => (event.match(new RegExp(`^${name}: ?(.*)$`, 'm')) || [])[1] || '';
  if (field('event') === 'key') keep(field('data'));
  else if (field('data')) show(JSON.parse(field('data')));
}

// listen reads the stream to its end. An EventSource could not show the key.
async function listen() {
  heard = Date.now();
  listening = new AbortController();
  const answer = await ask('/events', {signal: listening.signal});
  if (answer.status === 401) keep('');
  if (!answer.ok) return;
  const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '', part; !(part = await stream.read()).done;) {
    const events = (text + part.value).split('\n\n');
    text = events.pop();
    events.forEach(hear);
  }
}

async function follow() {
  for (;;) {
    try {
      await enter();
      if (key) await listen();
    } catch (error) {
      console.warn(error); // mostly the connection's end
    }
    if (!key && token === null) return lock();
    connection('bad', 'not connected: what you see is old');
    await new Promise((again) => setTimeout(again, 2000));
  }
}

// lock hides what a person without a key is not to see, and says how to get in.
function lock() {
  connection('still', 'locked');
  document.body.dataset.locked = '';
}

// command gives an order. The stream shows what comes of it.
async function command(button, path, row) {
  const words = `${button.textContent}${row ? ' ' + row.project : ''}`;
  if (button.dataset.order === 'cancel' && !confirm(`Forget the interruption of ${row.project}?`)) return;
  const said = byId('said');
  put(said, `${words} …`);
  try {
    const answer = await ask(path, {method: 'POST', body: new URLSearchParams(row ? {agent: row.agent, id: row.id} : {})});
    put(said, `${words}: ${(await answer.text()).trim()}`);
    if (answer.status === 401) listening.abort(); // the stream will be refused too
  } catch {
    put(said, `${words}: the daemon does not answer`);
  }
}

byId('pause').addEventListener('click', (event) => command(event.target, daemon.paused ? '/unpause' : '/pause'));
setInterval(() => {
  tick();
  if (Date.now() - heard > 45000) listening.abort();
}, 1000);
follow();
