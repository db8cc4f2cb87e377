// The sessions, in groups that can be folded. Of a group only the rows are made that can
// be seen: there may be ten thousand.
import {arrange, byId, make, put} from './dom.js';
import {needs, tones} from './model.js';
import {count, until} from './words.js';

const few = 5; // a group of so many is open at first
const beyond = 8; // rows that are made beyond what is seen

export class List {
  // now returns the daemon's clock; open shows all of a session; order gives one; seen is
  // told which rows were made or changed.
  constructor({now, open, order, seen}) {
    Object.assign(this, {now, open, order, seen, root: byId('sessions'), groups: new Map(), shown: [], made: new Map(), looking: false});
    const repaint = () => this.soon();
    addEventListener('scroll', repaint, {passive: true});
    addEventListener('resize', repaint, {passive: true});
    this.root.addEventListener('click', (event) => this.clicked(event));
    this.root.addEventListener('keydown', (event) => this.pressed(event));
  }

  // show shows groups; looking is whether a person looks for something: what was found is open.
  show(groups, looking) {
    this.looking = looking;
    const ids = new Set(groups.map((each) => each.id));
    for (const id of this.groups.keys()) if (!ids.has(id)) this.groups.delete(id);
    this.shown = groups.map((each) => {
      const known = this.groups.get(each.id) || this.begin(each);
      Object.assign(known, {rows: each.rows, size: each.many, at: each.at});
      this.head(known);
      return known;
    });
    this.root.classList.toggle('one-account', new Set(groups.map(({account}) => account).filter(Boolean)).size < 2);
    arrange(this.root, this.shown.map(({element}) => element));
    this.paint();
  }

  begin({id, need, cause, account, rows, many}) {
    const element = byId('group').content.firstElementChild.cloneNode(true);
    element.dataset.tone = tones[need];
    const part = (selector) => element.querySelector(selector);
    const words = cause && need === 2 ? `Waiting: ${cause}` : need === 0 ? cause : needs[need];
    put(part('.cause'), words[0].toUpperCase() + words.slice(1));
    put(part('.account'), account);
    const known = {id, element, list: part('ul'), toggle: part('button'), many: part('.many'), next: part('.next'), rows, size: many, open: many <= few};
    known.list.setAttribute('aria-label', `${words} ${account}`.trim());
    known.toggle.addEventListener('click', () => {
      known.open = !this.isOpen(known);
      if (this.looking) known.openedBy = true;
      this.head(known);
      this.paint();
    });
    this.groups.set(id, known);
    return known;
  }

  isOpen(known) {
    return this.looking && !known.openedBy ? true : known.open;
  }

  head(known) {
    if (!this.looking) known.openedBy = false;
    put(known.many, count(known.size, 'session'));
    known.toggle.setAttribute('aria-expanded', this.isOpen(known));
    this.tickHead(known);
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  // height returns how high a row is: all are of one height, so that it is known where
  // those are that are not made.
  height() {
    const style = getComputedStyle(this.root);
    return parseFloat(style.getPropertyValue('--row')) * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  // paint makes the rows that can be seen. First every group gets the height of all its
  // rows, then everything is measured, then drawn: groups that open at once would else
  // lie all on the same screen.
  paint() {
    const height = this.height(), end = innerHeight;
    for (const known of this.shown) {
      known.list.hidden = !this.isOpen(known);
      known.list.style.height = `${known.rows.length * height}px`;
    }
    const open = this.shown.map((known) => {
      if (known.list.hidden) return [known, 0, 0];
      const {top} = known.list.getBoundingClientRect();
      const first = Math.min(known.rows.length, Math.max(0, Math.floor(-top / height) - beyond));
      const last = Math.min(known.rows.length, Math.ceil((end - top) / height) + beyond);
      return [known, first, Math.max(first, last)];
    });
    const focus = document.activeElement, made = new Map();
    for (const [known, first, last] of open) {
      known.list.style.paddingTop = `${first * height}px`;
      arrange(known.list, known.rows.slice(first, last).map((row, i) => {
        const item = this.made.get(row.key) || begin(); // it may come from another group
        made.set(row.key, item);
        item.element.setAttribute('aria-posinset', first + i + 1);
        item.element.setAttribute('aria-setsize', known.rows.length);
        if (item.row !== row) {
          fillRow(item, row);
          this.tickRow(item);
        }
        return item.element;
      }));
    }
    this.made = made;
    if (focus !== document.activeElement && this.root.contains(focus)) focus.focus({preventScroll: true});
    this.seen([...made.values()]);
  }

  tickRow({row, next}) {
    put(next, row.next_at ? until(row.next_at, this.now(), row.late) : '');
  }

  tickHead(known) {
    put(known.next, known.at && (known.size > 1 || !this.isOpen(known)) ? `next ${until(known.at, this.now())}` : '');
  }

  tick() {
    this.shown.forEach((known) => this.tickHead(known));
    this.made.forEach((item) => this.tickRow(item));
  }

  item(target) {
    const element = target.closest('.session');
    return element && this.made.get(element.dataset.key);
  }

  clicked(event) {
    const item = this.item(event.target);
    if (!item) return;
    const order = event.target.dataset.order;
    if (order) this.order(event.target, item.row);
    else if (event.target.closest('.open')) this.open(item.row);
  }

  // pressed moves through the groups and their rows, also to rows that are not made yet.
  pressed(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key], at = this.shown.findIndex(({element}) => element.contains(event.target));
    if (!step || at < 0) return;
    const rows = (known) => (this.isOpen(known) ? known.rows : []);
    let known = this.shown[at], place = known.rows.indexOf(this.item(event.target)?.row) + step; // its head comes before its first row
    if (place < -1) {
      known = this.shown[at - 1];
      place = known ? rows(known).length - 1 : -1;
    } else if (place >= rows(known).length) {
      known = this.shown[at + 1];
      place = -1;
    }
    if (!known) return;
    event.preventDefault();
    if (place < 0) return known.toggle.focus();
    const {key} = known.rows[place];
    if (!this.made.has(key)) this.paint(); // keys come faster than frames: what was scrolled is not drawn yet
    this.made.get(key)?.element.querySelector('.open').focus();
  }
}

function begin() {
  const element = byId('session').content.firstElementChild.cloneNode(true);
  return {element, next: element.querySelector('.next'), strip: element.querySelector('.strip'), row: null};
}

function fillRow(item, row) {
  item.row = row;
  const part = (selector) => item.element.querySelector(selector);
  item.element.dataset.tone = row.tone;
  item.element.dataset.key = row.key;
  put(part('.state'), row.state);
  put(part('.project'), row.project);
  put(part('.who'), [row.name, row.by, `try ${row.tries}`, row.owner].filter(Boolean).join(' · '));
  part('.open').title = row.cwd;
  put(part('.why'), row.why);
  part('.why').title = row.why;
  fillOrders(item.element, row);
}

// fillOrders says what can be ordered of a session.
export function fillOrders(element, row) {
  const pause = element.querySelector('[data-order=pause], [data-order=unpause]');
  pause.dataset.order = row.paused ? 'unpause' : 'pause';
  put(pause, row.paused ? 'Unpause' : 'Pause');
  const retry = element.querySelector('[data-order=retry]');
  put(retry, row.retry || 'Retry');
  retry.disabled = Boolean(row.idle || row.running);
  element.querySelector('[data-order=cancel]').disabled = Boolean(row.idle);
  for (const button of element.querySelectorAll('[data-order]')) {
    button.setAttribute('aria-label', `${button.textContent} ${row.project}, ${row.by} ${row.name}`);
  }
}

// chips are the needs that sessions have, to choose from.
export function showChips(tally, chosen, choose) {
  const box = byId('chips');
  const wanted = needs.map((words, need) => ({words, need, n: tally[need]})).filter(({n, need}) => n > 0 || need === chosen);
  box.hidden = wanted.length < 2 && chosen === null;
  const buttons = new Map([...box.children].map((button) => [Number(button.dataset.need), button]));
  arrange(box, wanted.map(({words, need, n}) => {
    let button = buttons.get(need);
    if (!button) {
      button = make('button', '', 'chip', tones[need]);
      button.type = 'button';
      button.dataset.need = need;
      button.addEventListener('click', () => choose(need));
    }
    put(button, `${words} ${n}`);
    button.setAttribute('aria-pressed', need === chosen);
    return button;
  }));
}
