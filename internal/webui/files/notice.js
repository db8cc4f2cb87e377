// What tells a person who does not look at the page: its title, its icon, and notices of the browser.
import {byId, put} from './dom.js';

const shapes = {good: ['#357a5b', 'M6 4.5v7L12 8z'], bad: ['#b3261e', 'M7 3h2v6H7zM7 11h2v2H7z'], lost: ['#7a7f85', 'M4 7h8v2H4z']};
const most = 3; // notices at once; of more there is one

let shown = '';

// showTab sets the title and the icon: how many sessions need a person, or that nothing is known.
export function showTab(you, lost) {
  document.title = lost ? 'not connected · resumed' : you ? `(${you}) resumed` : 'resumed';
  const kind = lost ? 'lost' : you ? 'bad' : 'good';
  if (kind === shown) return;
  shown = kind;
  const [color, path] = shapes[kind], space = byId('drawing').namespaceURI;
  const svg = `<svg xmlns="${space}" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="${color}"/><path d="${path}" fill="white"/>` + '<' + '/svg>';
  byId('icon').href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export class Notices {
  // open shows a session.
  constructor(open) {
    Object.assign(this, {open, known: null, button: byId('notify')});
    if (!('Notification' in window) || !isSecureContext) return;
    this.button.hidden = false;
    this.button.addEventListener('click', () => this.toggle());
    this.show();
  }

  get on() {
    return window.stored.get('notify') === 'on' && Notification.permission === 'granted';
  }

  // toggle turns notices on or off. The browser asks the person once.
  async toggle() {
    const wanted = !this.on;
    if (wanted && Notification.permission !== 'granted') await Notification.requestPermission();
    window.stored.set('notify', wanted ? 'on' : '');
    this.show();
  }

  show() {
    const denied = Notification.permission === 'denied';
    this.button.setAttribute('aria-pressed', this.on);
    this.button.disabled = denied;
    this.button.title = denied ? 'Your browser does not let this page notify you' : 'A notice of your browser when a session needs you';
    put(this.button, this.on ? 'Notices on' : 'Notify me');
  }

  // told takes in the sessions, and reports those that need a person since the last time.
  told(sessions) {
    const need = [...sessions.values()].filter((row) => row.need === 0), before = this.known;
    this.known = new Set(need.map(({key}) => key));
    const fresh = before ? need.filter(({key}) => !before.has(key)) : [];
    if (!fresh.length || this.button.hidden || !this.on) return;
    if (fresh.length > most) return this.send(`${fresh.length} sessions need you`, '', 'several');
    for (const row of fresh) this.send(`${row.project} needs you`, row.remedy || row.why, row.key, row);
  }

  send(title, body, tag, row) {
    const notice = new Notification(title, {body, tag});
    notice.onclick = () => {
      focus();
      if (row) this.open(row);
    };
  }
}
