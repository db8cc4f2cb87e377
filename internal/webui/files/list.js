// The sessions, in groups that can be folded. Of a group only the rows are made that can
// be seen: there may be ten thousand.
import {copyRemedy} from './copy.js';
import {arrange, byId, make, put} from './dom.js';
import {needs, tones} from './model.js';
import {beginRow, fillRow, tickRow} from './row.js';
import {count, until} from './words.js';

const few = 12; // a group of so many is open at first
const beyond = 8; // rows that are made beyond what is seen

const capital = (words) => words[0].toUpperCase() + words.slice(1);

export class List {
  // now returns the daemon's clock; open shows all of a session; order gives one; seen is
  // told which rows were made or changed; picked are the selected ones.
  constructor({now, open, order, seen, pick, picked}) {
    Object.assign(this, {now, open, order, seen, pick, picked, root: byId('sessions'), groups: new Map(), shown: [], made: new Map(), looking: false, opened: ''});
    const repaint = () => this.soon();
    addEventListener('scroll', repaint, {passive: true});
    addEventListener('resize', repaint, {passive: true});
    this.root.addEventListener('click', (event) => this.clicked(event));
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
    element.dataset.tone = cause === 'back at work' ? 'good' : tones[need];
    const part = (selector) => element.querySelector(selector);
    const words = capital(cause && need === 2 ? `Waiting: ${cause}` : cause || needs[need]);
    put(part('.cause'), words);
    put(part('.account'), account);
    const known = {id, need, element, list: part('ul'), toggle: part('h3 button'), all: part('.all'), many: part('.many'), next: part('.next'), rows, size: many, open: many <= few && need !== 4};
    known.list.setAttribute('aria-label', `${words} ${account}`.trim());
    known.all.setAttribute('aria-label', `Retry all: ${words} ${account}`.trim());
    known.toggle.addEventListener('click', () => {
      known.open = !this.isOpen(known);
      if (this.looking) known.openedBy = true;
      this.head(known);
      this.paint();
    });
    known.all.addEventListener('click', () => this.order('retry', known.rows.filter((row) => !row.idle && !row.running)));
    this.groups.set(id, known);
    return known;
  }

  isOpen(known) {
    return this.looking && !known.openedBy ? true : known.open;
  }

  head(known) {
    if (!this.looking) known.openedBy = false;
    put(known.many, count(known.size, 'session'));
    known.all.hidden = known.need !== 0 && known.need !== 2 || known.rows.length < 2 || known.rows.length < known.size;
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
        const item = this.made.get(row.key) || beginRow(); // it may come from another group
        made.set(row.key, item);
        item.element.setAttribute('aria-posinset', first + i + 1);
        item.element.setAttribute('aria-setsize', known.rows.length);
        if (item.row !== row) {
          fillRow(item, row);
          tickRow(item, this.now());
        }
        this.mark(item);
        return item.element;
      }));
    }
    this.made = made;
    if (focus !== document.activeElement && this.root.contains(focus)) focus.focus({preventScroll: true});
    this.seen([...made.values()]);
  }

  // mark shows which rows are selected, and which one is open beside the list.
  mark({element, pick, row}) {
    pick.checked = this.picked(row.key);
    element.classList.toggle('picked', pick.checked);
    if (row.key === this.opened) element.ariaCurrent = 'true';
    else element.ariaCurrent = null;
  }

  remark(opened = this.opened) {
    this.opened = opened;
    this.made.forEach((item) => this.mark(item));
  }

  tickHead(known) {
    put(known.next, known.at && (known.size > 1 || !this.isOpen(known)) ? `next ${until(known.at, this.now())}` : '');
  }

  tick() {
    this.shown.forEach((known) => this.tickHead(known));
    this.made.forEach((item) => tickRow(item, this.now()));
  }

  item(target) {
    const element = target.closest?.('.session');
    return element && this.made.get(element.dataset.key);
  }

  clicked(event) {
    const item = this.item(event.target);
    if (!item) return;
    const {order} = event.target.dataset;
    if (order) this.order(order, [item.row]);
    else if (event.target.matches('.pick')) this.pick(item.row, this.rows(), event.shiftKey);
    else if (event.target.matches('.copy')) copyRemedy(item.row, byId('said'));
    else if (!event.target.closest('label')) {
      item.part('.open').focus({preventScroll: true});
      this.open(item.row);
    }
  }

  // rows returns all rows in their order, also of groups that are folded.
  rows() {
    return this.shown.flatMap(({rows}) => rows);
  }

  // neighbour returns the row before or after another one.
  neighbour(key, step) {
    const rows = this.rows(), at = rows.findIndex((row) => row.key === key);
    return at < 0 ? rows[0] : rows[at + step];
  }

  // move goes through the groups and their rows, also to rows that are not made yet. It returns the
  // row that has the focus then, if it is one.
  move(step) {
    const here = document.activeElement, at = this.shown.findIndex(({element}) => element.contains(here));
    const rows = (known) => (this.isOpen(known) ? known.rows : []);
    if (at < 0) return this.shown.length ? this.focus(this.shown[0], rows(this.shown[0]).length ? 0 : -1) : null;
    let known = this.shown[at], place = known.rows.indexOf(this.item(here)?.row) + step; // its head comes before its first row
    if (place < -1) {
      known = this.shown[at - 1];
      place = known ? rows(known).length - 1 : -1;
    } else if (place >= rows(known).length) {
      known = this.shown[at + 1];
      place = -1;
    }
    return known ? this.focus(known, place) : null;
  }

  focus(known, place) {
    if (place < 0) {
      known.toggle.focus();
      return null;
    }
    const row = known.rows[place];
    if (!this.made.has(row.key)) this.paint(); // keys come faster than frames: what was scrolled is not drawn yet
    this.made.get(row.key)?.element.querySelector('.open').focus();
    return row;
  }

  // reveal scrolls to a row, and opens its group.
  reveal(key) {
    const known = this.shown.find(({rows}) => rows.some((row) => row.key === key));
    if (!known) return;
    if (!this.isOpen(known)) known.toggle.click();
    const place = known.rows.findIndex((row) => row.key === key), {top} = known.list.getBoundingClientRect();
    const y = top + place * this.height(), edge = 140;
    if (y < edge || y > innerHeight - edge) scrollBy({top: y - innerHeight / 2});
    this.paint();
  }

  // focusRow puts the focus on a row.
  focusRow(key) {
    this.made.get(key)?.element.querySelector('.open').focus({preventScroll: true});
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
