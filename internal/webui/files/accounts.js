// The accounts, as a thin line: what of their allowances is used, and when they lift. One that is
// opened shows all of it.
import {arrange, byId, draw, fill, make, put} from './dom.js';
import {ago, clock, until} from './words.js';

const few = 8; // accounts that are shown at first
const stale = 6 * 60 * 60 * 1000; // when it is said how old a report is
const cards = new Map();
let all = [], whole = false, opened = () => {};

export function showAccounts(accounts) {
  const order = {bad: 0, wait: 0, busy: 1};
  all = [...accounts].sort((a, b) => (order[a.tone] ?? 2) - (order[b.tone] ?? 2) || (a.name < b.name ? -1 : 1));
  byId('accounts-section').hidden = all.length === 0;
  const names = new Set(all.map(({name}) => name));
  for (const name of cards.keys()) if (!names.has(name)) cards.delete(name);
  const more = byId('more-accounts');
  more.hidden = all.length <= few;
  put(more, whole ? 'Show fewer' : `Show all ${all.length} accounts`);
  more.setAttribute('aria-expanded', whole);
  arrange(byId('accounts'), (whole ? all : all.slice(0, few)).map((account) => {
    let card = cards.get(account.name);
    if (!card) cards.set(account.name, card = begin(account.name));
    show(card, account);
    return card.element;
  }));
}

// watchAccounts tells changed that a person has opened an account.
export function watchAccounts(changed) {
  opened = changed;
  byId('more-accounts').addEventListener('click', () => {
    whole = !whole;
    showAccounts(all);
  });
}

function begin(name) {
  const element = byId('account').content.firstElementChild.cloneNode(true);
  const part = (selector) => element.querySelector(selector);
  put(part('.name'), name);
  const button = part('button');
  button.title = name;
  button.addEventListener('click', () => {
    const open = part('.more').hidden;
    part('.more').hidden = !open;
    button.setAttribute('aria-expanded', open);
    element.classList.toggle('open', open);
    if (open) opened();
  });
  return {element, part, said: ''};
}

function show(card, account) {
  card.account = account;
  card.element.dataset.tone = account.tone;
  put(card.part('.count'), account.sessions);
  const said = JSON.stringify(account.gauges);
  if (card.said === said) return;
  card.said = said;
  fill(card.part('.gauges'), account.gauges.map(({name, percent, words, tone}) => {
    const gauge = make('span', '', 'small', tone), bar = make('span', '', 'meter');
    bar.append(meter(percent));
    gauge.append(`${name} `, bar, ` ${words}`);
    return gauge;
  }));
  fill(card.part('.windows'), account.gauges.map(gauge));
}

const meter = (percent) => draw('svg', {'aria-hidden': 'true', focusable: 'false'}, draw('rect', {class: 'all', width: '100%', height: '100%'}), draw('rect', {class: 'used', width: `${percent}%`, height: '100%'}));

// gauge shows how much of an allowance is used.
function gauge({name, percent, words, tone}) {
  const line = make('li', '', 'gauge', tone), box = make('div', '', 'meter');
  for (const [key, value] of Object.entries({role: 'meter', 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': percent, 'aria-valuetext': `${words} used`})) box.setAttribute(key, value);
  box.append(meter(percent));
  line.append(make('span', name, 'window'), box, make('span', '', 'percent'), make('span', '', 'resets'));
  return line;
}

export function tickAccounts(now) {
  for (const {element, part, account} of cards.values()) {
    const lifts = account.reset_at && new Date(account.reset_at) > now;
    put(part('.limit'), account.state + (lifts ? `, lifts ${until(account.reset_at, now)}` : ''));
    const over = account.gauges.map(({resets_at: at}) => new Date(at) <= now); // of an allowance that is new again nothing is told yet
    element.querySelectorAll('.small').forEach((each, i) => { each.dataset.tone = over[i] ? 'still' : account.gauges[i].tone; });
    if (part('.more').hidden) continue;
    element.querySelectorAll('.gauge').forEach((line, i) => {
      const {resets_at: at, at: told, words, tone} = account.gauges[i];
      line.dataset.tone = over[i] ? 'still' : tone;
      put(line.querySelector('.percent'), `${over[i] ? 'was ' : ''}${words} used`);
      put(line.querySelector('.resets'), (over[i] ? 'has reset' : `${fills(account.gauges[i], now)}resets ${until(at, now)}`) + (now - new Date(told) > stale ? `; reported ${ago(told, now)}` : ''));
    });
  }
}

// fills says when an allowance will be full, where that is before it resets.
function fills({full_at: at, full_at_earliest: earliest, full_at_latest: latest}, now) {
  if (!at) return '';
  const [from, to] = [earliest, latest].map((each) => clock(each, now, false));
  return `full ${clock(at, now, false)}${from === to ? '' : ` (${from} to ${to})`}, `;
}

// accountStrips returns where the strips of opened accounts go, by name.
export const accountStrips = () => new Map([...cards].filter(([, {part}]) => !part('.more').hidden).map(([name, {part}]) => [name, part('.strip')]));
