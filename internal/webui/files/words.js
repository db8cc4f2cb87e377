// The words and the clock of `resumed status`: what people read there they read here.

const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

// span says roughly how long something lasts, in two units.
export function span(milliseconds) {
  const d = Math.max(0, Math.round(milliseconds / second)) * second;
  const pair = (big, small, a, b) => `${Math.floor(d / big)}${a} ${Math.floor(d % big / small)}${b}`;
  if (d < minute) return `${d / second}s`;
  if (d < hour) return pair(minute, second, 'm', 's');
  if (d < day) return pair(hour, minute, 'h', 'm');
  return pair(day, hour, 'd', 'h');
}

const two = (n) => String(n).padStart(2, '0');
const noon = (t) => Date.UTC(t.getFullYear(), t.getMonth(), t.getDate());

// clock says a time in the reader's zone as shortly as it is clear: of the days to come
// the day of the week, of others the date.
export function clock(time, now, seconds = true) {
  const t = new Date(time), here = new Date(now);
  const days = Math.round((noon(t) - noon(here)) / day);
  const short = `${two(t.getHours())}:${two(t.getMinutes())}`;
  if (days === 0) return seconds ? `${short}:${two(t.getSeconds())}` : short;
  if (days > 0 && days < 7) return `${weekdays[t.getDay()]} ${short}`;
  const date = `${t.getDate()} ${months[t.getMonth()]}`;
  return t.getFullYear() === here.getFullYear() ? `${date} ${short}` : `${date} ${t.getFullYear()}`;
}

// said says a reason, whose times are stamps, to the reader.
export const said = (text, now) => text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (stamp) => (Number.isNaN(Date.parse(stamp)) ? stamp : clock(stamp, now)));

// because says why, and what failed if that is not said there.
export const because = (why, failed) => (failed && !why.includes(failed) ? [why, failed].filter(Boolean).join(': ') : why);

// plain leaves out the marks of commands.
export const plain = (text) => text.replaceAll('`', '');

// until says how long it is to a time, and when that is; of one that is over it says late.
export function until(time, now, late = 'due now') {
  const left = new Date(time) - now;
  if (left <= 0) return late;
  return `in ${span(Math.ceil(left / second) * second)}, ${clock(time, now, false)}`;
}

// ago says roughly how long something is over: a list that is read at a glance has no seconds.
export function ago(time, now) {
  const over = now - new Date(time);
  if (over < minute) return 'just now';
  const [unit, name] = over < hour ? [minute, 'min'] : over < day ? [hour, 'h'] : [day, 'd'];
  return `${Math.floor(over / unit)} ${name} ago`;
}

// since says when something began.
export const since = (time, now) => `${ago(time, now)}, ${clock(time, now, false)}`;

export const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

// sentence says how all stands: needs has how many sessions need what, and known how
// many there are.
export function sentence([you, trying, time, unpause, nothing], known) {
  const says = (n, one, many) => (n ? `${n} ${n === 1 ? one : many}` : '');
  const parts = [says(you, 'needs you', 'need you'), says(trying, 'is being resumed', 'are being resumed'),
    says(time, 'waits', 'wait'), says(unpause, 'is paused', 'are paused')].filter(Boolean);
  const others = Math.max(known - you - trying - time - unpause, nothing);
  if (!parts.length) return others ? `All is well: of ${count(others, 'session')} none is stopped.` : 'All is well: there is no session yet.';
  return `${parts.join(', ')}${others ? `; ${count(others, 'other')} ${others === 1 ? 'is' : 'are'} not stopped` : ''}.`;
}
