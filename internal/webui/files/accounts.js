// The accounts: what of their allowances is used, and when they lift.
import {arrange, byId, draw, fill, make, put} from './dom.js';
import {ago, clock, until} from './words.js';

const few = 8; // accounts that are shown at first
const stale = 6 * 60 * 60 * 1000; // when it is said how old a report is
const cards = new Map();
let all = [], whole = false;

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

export function watchMore() {
  byId('more-accounts').addEventListener('click', () => {
    whole = !whole;
    showAccounts(all);
  });
}

function begin(name) {
  const element = byId('account').content.firstElementChild.cloneNode(true);
  put(element.querySelector('h3'), name);
  return {element, said: ''};
}

function show(card, account) {
  card.account = account;
  card.element.dataset.tone = account.tone;
  put(card.element.querySelector('.count'), account.sessions);
  const said = JSON.stringify(account.gauges);
  if (card.said === said) return;
  card.said = said;
  fill(card.element.querySelector('.gauges'), account.gauges.map(gauge));
}

// gauge shows how much of an allowance is used.
function gauge({name, percent, words, tone}) {
  const line = make('li', '', 'gauge', tone), meter = make('div', '', 'meter');
  for (const [key, value] of Object.entries({role: 'meter', 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': percent, 'aria-valuetext': `${words} used`})) meter.setAttribute(key, value);
  meter.append(draw('svg', {'aria-hidden': 'true', focusable: 'false'}, draw('rect', {class: 'all', width: '100%', height: '100%'}), draw('rect', {class: 'used', width: `${percent}%`, height: '100%'})));
  line.append(make('span', name, 'window'), meter, make('span', '', 'percent'), make('span', '', 'resets'));
  return line;
}

export function tickAccounts(now) {
  for (const {element, account} of cards.values()) {
    const lifts = account.reset_at && new Date(account.reset_at) > now;
    put(element.querySelector('.limit'), account.state + (lifts ? `, lifts ${until(account.reset_at, now)}` : ''));
    element.querySelectorAll('.gauge').forEach((line, i) => {
      const {resets_at: at, at: told, words, tone} = account.gauges[i], over = new Date(at) <= now;
      line.dataset.tone = over ? 'still' : tone; // of an allowance that is new again nothing is told yet
      put(line.querySelector('.percent'), `${over ? 'was ' : ''}${words} used`);
      put(line.querySelector('.resets'), (over ? 'has reset' : `${fills(account.gauges[i], now)}resets ${until(at, now)}`) + (now - new Date(told) > stale ? `; reported ${ago(told, now)}` : ''));
    });
  }
}

// fills says when an allowance will be full, where that is before it resets.
function fills({full_at: at, full_at_earliest: earliest, full_at_latest: latest}, now) {
  if (!at) return '';
  const [from, to] = [earliest, latest].map((each) => clock(each, now, false));
  return `full ${clock(at, now, false)}${from === to ? '' : ` (${from} to ${to})`}, `;
}

// strips returns where the strips of accounts go, by name.
export const accountStrips = () => new Map([...cards].map(([name, {element}]) => [name, element.querySelector('.strip')]));
