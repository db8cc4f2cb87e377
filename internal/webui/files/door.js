// How the page is let in, and hears what changes.

// What lets the page in: first the token of its link, then a key. That is kept for
// this tab and this port alone; a cookie would be sent to every port.
let token = new URLSearchParams(location.search).get('token');
let key = '';
try {
  key = sessionStorage.getItem('key') || '';
} catch { /* a browser that keeps nothing shows the page until it is reloaded */ }

let heard = 0; // when the daemon last said anything
let listening = new AbortController(); // ends the stream that is read

function keep(text) {
  key = text;
  try {
    sessionStorage.setItem('key', text);
  } catch { /* likewise */ }
}

export async function ask(path, options) {
  const answer = await fetch(path, {...options, headers: {Authorization: `Bearer ${key}`}});
  if (answer.status === 401) listening.abort(); // the stream will be refused too
  return answer;
}

// tell returns what the daemon answers, or fails with what it says.
export async function tell(path) {
  const answer = await ask(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// enter gives the token of the link for a key. The address that stays in the
// browser does not have it.
async function enter(refused) {
  if (token === null) return;
  const answer = await fetch('/enter', {method: 'POST', body: new URLSearchParams({token})});
  history.replaceState(null, '', location.pathname + location.hash);
  token = null;
  if (answer.ok) keep(await answer.text());
  else refused();
}

// listen reads the stream to its end. An EventSource could not show the key.
async function listen(hear) {
  heard = Date.now();
  listening = new AbortController();
  const answer = await fetch('/events', {signal: listening.signal, headers: {Authorization: `Bearer ${key}`}});
  if (answer.status === 401) keep('');
  if (!answer.ok) return;
  const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '', part; !(part = await stream.read()).done;) {
    text += part.value;
    if (!part.value.includes('\n')) continue; // in the midst of one that may be of megabytes
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) if (take(event, hear)) await drawn();
  }
}

// drawn lets the browser draw what was heard before it reads on. A page that nobody sees
// draws nothing.
const drawn = () => document.hidden || new Promise((again) => {
  requestAnimationFrame(() => setTimeout(again));
  setTimeout(again, 100);
});

// take hears one event, and returns whether that is to be seen before what follows it.
function take(event, hear) {
  heard = Date.now();
  const field = (name) => (event.match(new RegExp(`^${name}: ?(.*)$`, 'm')) || [])[1] || '';
  if (field('event') === 'key') keep(field('data'));
  const data = field('event') === 'key' ? '' : field('data');
  return hear(data ? JSON.parse(data) : null);
}

// follow hears the daemon for as long as the page is open.
export async function follow({hear, lost, refused, locked}) {
  setInterval(() => {
    if (Date.now() - heard > 45000) listening.abort();
  }, 1000);
  for (;;) {
    try {
      await enter(refused);
      if (key) await listen(hear);
    } catch (error) {
      console.warn(error); // mostly the connection's end
    }
    if (!key && token === null) return locked();
    lost();
    await new Promise((again) => setTimeout(again, 2000));
  }
}
