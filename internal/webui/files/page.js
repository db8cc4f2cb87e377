// The page: hears the daemon, and shows how everything stands.
import {accountStrips, showAccounts, tickAccounts, watchMore} from './accounts.js';
import {byId, drawn, fill, make, put} from './dom.js';
import {ask, follow} from './door.js';
import {Drawer} from './drawer.js';
import {Fleet} from './fleet.js';
import {List, showChips} from './list.js';
import {Known, group, matches, tally, wordsOf} from './model.js';
import {Strips} from './strip.js';
import {ago, clock, count, said, sentence, span} from './words.js';

const known = new Known();
let daemon = null;
let ahead = 0; // the daemon's clock over this one's, in milliseconds
let chosen = null; // which need alone is shown
let words = []; // what is looked for
const now = () => Date.now() + ahead;

const strips = new Strips(now);
const fleet = new Fleet(now);
const drawer = new Drawer({now, order: command});
const list = new List({now, open: (row) => drawer.open(row), order: command, seen: (made) => strips.want(made)});

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
  put(byId('sentence'), sentence(needs, daemon.agents.reduce((sum, each) => sum + each.sessions, 0)));
  document.title = needs[0] ? `(${needs[0]}) resumed` : 'resumed';
  byId('sessions-section').hidden = told.length === 0;
  byId('sessions').ariaBusy = known.begun;
  byId('empty').hidden = told.length > 0;
  byId('none').hidden = told.length === 0 || found.length > 0;
  showChips(needs, chosen, choose);
  list.show(known.begun ? found : group(found), looking);
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
  const notes = [];
  if (daemon.paused) notes.push({tone: 'still', text: 'Paused: nothing is started.'});
  if (daemon.dry_run) notes.push({tone: 'still', text: 'Dry run: nothing is ever started.'});
  if (daemon.config_error) notes.push({tone: 'bad', text: `The newest configuration has errors and is not used:\n${daemon.config_error}`});
  notes.push(...daemon.notes);
  if (byId('notes').dataset.said === JSON.stringify(notes)) return; // an alert is read out once
  byId('notes').dataset.said = JSON.stringify(notes);
  fill(byId('notes'), notes.map(({tone, text}) => make('p', text, 'note', tone)));
}

// showAgents says who is watched, for when there is nothing else to say.
function showAgents() {
  const moved = daemon.agents.map((each) => each.moved_at).filter(Boolean).sort().at(-1);
  fill(byId('agents'), daemon.agents.filter(({sessions: many}) => many).map(({name, sessions: many, moved_at: at}) => {
    const line = make('li', '', 'card');
    line.append(make('h3', name), make('p', at ? `active ${ago(at, now())}` : 'not active since the daemon started', 'limit'), make('p', count(many, 'session'), 'count'));
    return line;
  }));
  const idle = daemon.agents.filter(({sessions: many}) => !many).map(({name}) => name);
  put(byId('idle'), idle.length ? `Watched, with no session yet: ${idle.join(', ')}.` : '');
  put(byId('last'), moved ? `Last activity: ${clock(moved, now())}.` : 'No activity since the daemon started.');
}

function tick() {
  if (!daemon) return;
  list.tick();
  tickAccounts(now());
  drawer.tick();
  if (!byId('empty').hidden) showAgents();
  put(byId('daemon'), `${daemon.line}, up ${span(now() - new Date(daemon.started_at))}`);
}

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
  tick();
  drawn().then(() => {
    strips.wantAccounts(accountStrips, JSON.stringify(update.accounts.map((a) => [a.name, a.tone, a.reset_at])));
    fleet.want(daemon.fleet);
  });
}

function connection(tone, text) {
  byId('link').dataset.tone = tone;
  put(byId('link'), text);
}

// command gives an order. The stream shows what comes of it.
async function command(button, row, tells = byId('said')) {
  const order = button.dataset.order;
  const what = `${button.textContent}${row ? ' ' + row.project : ''}`;
  if (order === 'cancel' && !confirm(`Cancel ${row.project}? It will not be continued after this limit.`)) return;
  put(tells, `${what} …`);
  try {
    const path = row ? `/session/${order}` : daemon.paused ? '/unpause' : '/pause';
    const answer = await ask(path, {method: 'POST', body: new URLSearchParams(row ? {agent: row.agent, id: row.id} : {})});
    put(tells, `${what}: ${said((await answer.text()).trim(), now())}`);
  } catch {
    put(tells, `${what}: the daemon does not answer`);
  }
}

byId('pause').addEventListener('click', (event) => command(event.target));
byId('search').addEventListener('input', (event) => look(event.target.value));
byId('clear').addEventListener('click', () => {
  byId('search').value = '';
  chosen = null;
  look('');
  byId('search').focus();
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input') || byId('drawer').open) return;
  event.preventDefault();
  byId('search').focus();
});
watchMore();
setInterval(tick, 1000);
follow({
  hear(update) {
    connection('good', 'live');
    if (update) show(update);
    return Boolean(update?.groups) && known.begun;
  },
  lost: () => connection('bad', 'not connected: this may be out of date'),
  refused: () => put(byId('old-link'), 'The link that you followed is too old, or was used before. '),
  locked() { // what a person without a key is not to see
    connection('still', 'locked');
    drawer.close();
    document.body.dataset.locked = '';
  },
});
