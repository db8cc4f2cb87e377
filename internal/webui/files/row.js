// One session as a row.
import {byId, put} from './dom.js';
import {canCopy} from './copy.js';
import {plain, since, until} from './words.js';

export function beginRow() {
  const element = byId('session').content.firstElementChild.cloneNode(true);
  const part = (selector) => element.querySelector(selector);
  return {element, part, next: part('.next'), stopped: part('.stopped'), ago: part('.ago'), strip: part('.strip'), pick: part('.pick'), row: null};
}

export function fillRow(item, row) {
  const {part} = item;
  item.row = row;
  item.element.dataset.tone = row.tone;
  item.element.dataset.key = row.key;
  item.element.classList.toggle('todo', row.need === 0);
  put(part('.state'), row.state);
  part('.at-state').title = row.state;
  put(part('.project'), row.project);
  put(part('.who'), [row.name, row.by, row.tries.startsWith('0') ? '' : `try ${row.tries}`, row.owner].filter(Boolean).join(' · '));
  part('.open').title = row.cwd;
  put(part('.why'), row.need === 0 ? plain(row.remedy || row.why) : row.why);
  part('.why').title = row.need === 0 && row.remedy ? `${row.remedy}\n${row.why}` : row.why;
  part('.copy').hidden = row.need !== 0 || !canCopy;
  part('.copy').title = row.copy || 'The command that opens it';
  part('.copy').setAttribute('aria-label', `Copy the command for ${row.project}, ${row.by} ${row.name}`);
  item.pick.setAttribute('aria-label', `Select ${row.project}, ${row.by} ${row.name}`);
  fillOrders(item.element, row);
}

export function tickRow({row, next, stopped, ago}, now) {
  put(next, row.next_at ? until(row.next_at, now, row.late) : '');
  stopped.hidden = !row.stopped_at;
  if (row.stopped_at) put(ago, since(row.stopped_at, now));
}

// fillOrders says what can be ordered of a session.
export function fillOrders(element, row) {
  const pause = element.querySelector('[data-order=pause], [data-order=unpause]');
  pause.dataset.order = row.paused ? 'unpause' : 'pause';
  put(pause, row.paused ? 'Unpause' : 'Pause');
  const retry = element.querySelector('[data-order=retry]');
  put(retry, row.retry ? 'Continue' : 'Retry');
  retry.title = row.retry || '';
  retry.disabled = Boolean(row.idle && !row.undo || row.running);
  element.querySelector('[data-order=cancel]').disabled = Boolean(row.idle);
  for (const button of element.querySelectorAll('[data-order]')) {
    button.setAttribute('aria-label', `${button.textContent} ${row.project}, ${row.by} ${row.name}`);
  }
}
