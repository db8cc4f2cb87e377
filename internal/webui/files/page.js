// The page: hears the daemon, and shows how everything stands.
import {accountStrips, showAccounts, tickAccounts, watchAccounts} from './accounts.js';
import {watchAnswers} from './ask.js';
import {byId, drawn, fill, make, put} from './dom.js';
import {follow, tell} from './door.js';
import {Drawer} from './drawer.js';
import {Fleet} from './fleet.js';
import {watchKeys} from './keys.js';
import {List, showChips} from './list.js';
import {Known, group, matches, tally, wordsOf} from './model.js';
import {Notices, showTab} from './notice.js';
import {give} from './orders.js';
import {Past} from './past.js';
import {Picked} from './pick.js';
import {Queue, showQueueCount} from './queue.js';
import {Strips, watchZoom} from './strip.js';
import {watchTheme} from './theme.js';
import {watchViews} from './views.js';
import {ago, clock, count, sentence, span} from './words.js';

const known = new Known();
let daemon = null;
let ahead = 0; // the daemon's clock over this one's, in milliseconds
let lostAt = 0; // when the daemon was last heard, if it does not answer
let you = 0; // sessions that need a person
let chosen = null; // which need alone is shown
let words = []; // what is looked for
const now = () => Date.now() + ahead;

const order = (what, rows, tells = byId('said')) => give(what, rows, {now, tells});
const strips = new Strips(now);
const fleet = new Fleet(now);
const picked = new Picked({give: order, changed: () => list.remark()});
const list = new List({
  now, order, open: (row) => drawer.open(row), seen: (made) => strips.want(made),
  pick: (row, rows, all) => picked.toggle(row, rows, all), picked: (key) => picked.keys.has(key),
});
const drawer = new Drawer({
  now, order, step: (key, step) => list.neighbour(key, step),
  changed(key, left) {
    list.remark(key);
    if (key) list.reveal(key);
    if (left) list.focusRow(left);
    list.soon(); // the list has become narrower or wider
  },
});
const openKey = (key) => drawer.open(known.sessions.get(key));
const queue = new Queue({now, open: openKey, knows: (key) => known.sessions.has(key)});
const past = new Past({now, sessions: () => known.sessions, open: (row) => drawer.open(row)});
const notices = new Notices((row) => openKey(row.key));

// Many sessions are not drawn more often than a person can see.
const calm = () => (known.sessions.size > 1000 ? 250 : 0);
let drawing = null;

function drawSoon() {
  drawing ??= setTimeout(() => {
    drawing = null;
    drawSessions();
  }, calm());
}

function drawSessions() {
  const told = known.begun ? known.sketch() : [...known.sessions.values()], needs = tally(told);
  const looking = words.length > 0 && !known.begun; // what is looked for is found when all are here
  const found = told.filter((each) => (chosen === null || each.need === chosen) && (!looking || matches(each, words)));
  you = needs[0];
  showState(needs);
  byId('sessions-section').hidden = told.length === 0;
  byId('sessions').ariaBusy = known.begun;
  byId('empty').hidden = told.length > 0 || !daemon.agents.length;
  byId('none').hidden = told.length === 0 || found.length > 0;
  showChips(needs, chosen, choose);
  list.show(known.begun ? found : group(found), looking);
  if (known.coming) return;
  picked.told(known.sessions);
  notices.told(known.sessions);
  past.told();
}

// showState says how all stands, or that this is not known.
function showState(needs) {
  const off = !daemon.agents.length && !needs.some(Boolean);
  put(byId('sentence'), lostAt ? 'The daemon does not answer.' : off ? 'Nothing is watched: the configuration turns all agents off.' : sentence(needs, daemon.agents.reduce((sum, each) => sum + each.sessions, 0)));
  showTab(you, lostAt > 0);
}

function choose(need) {
  chosen = need === chosen ? null : need;
  drawSessions();
}

function look(text) {
  words = wordsOf(text);
  drawSessions();
}

function showDaemon() {
  byId('pause').hidden = false;
  put(byId('pause'), daemon.paused ? 'Unpause all' : 'Pause all');
  put(byId('config'), daemon.config ? `configuration: ${daemon.config}, read ${clock(daemon.loaded_at, now())}` : 'configuration: built-in defaults');
  showQueueCount(daemon.queue || 0);
  fleet.want(Boolean(daemon.fleet));
  const notes = [];
  if (daemon.paused) notes.push({tone: 'still', text: 'Paused: nothing is started.'});
  if (daemon.dry_run) notes.push({tone: 'still', text: 'Dry run: nothing is ever started.'});
  if (daemon.config_error) notes.push({tone: 'bad', text: `The newest configuration has errors and is not used:\n${daemon.config_error}`});
  notes.push(...daemon.notes);
  if (byId('notes').dataset.said === JSON.stringify(notes)) return; // an alert is read out once
  byId('notes').dataset.said = JSON.stringify(notes);
  fill(byId('notes'), notes.map(({tone, text}) => make('p', text, 'note', tone)));
}

// showAgents says what is watched when nothing is to do.
function showAgents() {
  const moved = daemon.agents.map((each) => each.moved_at).filter(Boolean).sort().at(-1);
  fill(byId('agents'), daemon.agents.filter(({sessions: many}) => many).map(({name, sessions: many, moved_at: at}) => {
    const line = make('li', '', 'card');
    line.append(make('h3', name), make('p', at ? `active ${ago(at, now())}` : 'not active since the daemon started'), make('p', count(many, 'session'), 'soft'));
    return line;
  }));
  const idle = daemon.agents.filter(({sessions: many}) => !many).map(({name}) => name);
  put(byId('idle'), idle.length ? `Watched, with no session yet: ${idle.join(', ')}.` : '');
  put(byId('last'), moved ? `Last activity: ${clock(moved, now())}.` : 'No activity since the daemon started.');
}

function tick() {
  if (!daemon || lostAt) return; // what is out of date does not count on
  list.tick();
  tickAccounts(now());
  drawer.tick();
  if (!byId('empty').hidden) showAgents();
  put(byId('daemon'), `${daemon.line}, up ${span(now() - new Date(daemon.started_at))}`);
}

let accountsSaid = '';
const drawAccountStrips = () => {
  tickAccounts(now());
  strips.wantAccounts(accountStrips, accountsSaid);
};

function show(update) {
  const first = !daemon, sketched = known.begun;
  if (update.daemon) {
    ahead = new Date(update.now) - Date.now();
    daemon = update.daemon;
  }
  known.hear(update, now());
  if (first || sketched !== known.begun) drawSessions();
  else if (!known.coming) drawSoon();
  if (!known.coming) drawer.told(known.sessions);
  if (!update.daemon) return; // a part, and no more was told
  showDaemon();
  showAccounts(update.accounts);
  accountsSaid = JSON.stringify(update.accounts.map((a) => [a.name, a.tone, a.reset_at]));
  tick();
  drawn().then(drawAccountStrips);
}

// connection says whether what is shown is live. What is not is grey.
function connection(tone, text, lost) {
  byId('link').dataset.tone = tone;
  put(byId('link'), text);
  if (lost === lostAt > 0) return;
  lostAt = lost ? Date.now() : 0;
  document.body.toggleAttribute('data-lost', lost);
  put(byId('lost'), lost ? `Nothing is heard from it since ${clock(now(), now())}. What you see is how it was then. resumed status on its machine says why; this page tries again by itself.` : '');
  if (daemon) showState(tally([...known.sessions.values()]));
  else showTab(0, lost);
}

async function pauseAll() {
  const path = daemon.paused ? 'unpause' : 'pause', what = byId('pause').textContent;
  try {
    put(byId('said'), `${what}: ${(await tell(path, {method: 'POST'})).said}`);
  } catch (error) {
    put(byId('said'), `${what}: ${error.message}`);
  }
}

const searchOf = () => document.querySelector(`[data-of=${document.body.dataset.view}] input[type=search]`);

// move goes to the next row of the view. If a session is open beside the list, the next one is.
function move(step) {
  if (document.body.dataset.view !== 'sessions') {
    const all = [...document.querySelectorAll(`[data-of=${document.body.dataset.view}] :is(.line:has(button), h3)`)];
    all[Math.max(0, all.indexOf(document.activeElement.closest('.line, h3')) + step)]?.querySelector('button').focus();
  } else if (byId('drawer').open && byId('drawer').contains(document.activeElement)) drawer.turn(step);
  else {
    const row = list.move(step);
    if (row && byId('drawer').open) drawer.open(row, false);
  }
}

watchAnswers();
watchAccounts(drawAccountStrips);
watchTheme();
watchZoom(() => {
  strips.redraw();
  if (drawer.row) drawer.look();
});
watchKeys({
  move,
  find: () => searchOf()?.focus(),
  pick(target) {
    const item = list.item(target);
    if (item) picked.toggle(item.row, list.rows(), false);
  },
  leave(target) {
    if (target.matches('input[type=search]') && target.value) {
      target.value = '';
      target.dispatchEvent(new Event('input'));
    } else if (!drawer.close()) picked.clear();
  },
});
watchViews({queue: (on) => queue.shown(on), history: (on) => past.shown(on), fleet: (on) => fleet.shown(on), sessions: () => list.soon()});
byId('pause').addEventListener('click', pauseAll);
byId('search').addEventListener('input', (event) => look(event.target.value));
byId('clear').addEventListener('click', () => {
  byId('search').value = '';
  chosen = null;
  look('');
  byId('search').focus();
});
setInterval(tick, 1000);
follow({
  hear(update) {
    connection('good', 'live', false);
    if (update) show(update);
    return Boolean(update?.groups) && known.begun;
  },
  lost: () => connection('bad', 'not connected', true),
  refused: () => put(byId('old-link'), 'The link that you followed is too old, or was used before. '),
  locked(forgetful) { // what a person who is not let in is not to see
    connection('still', 'locked', false);
    drawer.close();
    if (forgetful) put(byId('old-link'), 'Your browser did not keep the cookie of this page: allow it, and follow a new link. ');
    document.body.dataset.locked = '';
  },
});
