// How the page hears what changes, and asks. It is let in by start.js.
import {drawn} from './dom.js';

const entrance = window.entrance;
let opening = window.opening; // the stream, which was asked for first of all
let listening = window.listening; // ends the stream that is read
let heard = Date.now(); // when the daemon last said anything
const renewEvery = 6 * 60 * 60 * 1000; // an open page stays let in

export async function ask(path, options) {
  const answer = await fetch(entrance.path(path), options);
  if (answer.status === 401) listening.abort(); // the stream will be refused too
  return answer;
}

// tell returns what the daemon answers, or fails with what it says.
export async function tell(path, options) {
  const answer = await ask(path, options).catch(() => { throw new Error('the daemon does not answer'); });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// open asks for the stream, unless it is asked for already.
function open() {
  heard = Date.now();
  const asked = opening;
  opening = null;
  if (asked) return asked;
  listening = new AbortController();
  return entrance.stream(listening.signal);
}

// listen reads the stream to its end.
async function listen(body, hear) {
  const stream = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '', part; !(part = await stream.read()).done;) {
    text += part.value;
    if (!part.value.includes('\n')) continue; // in the midst of one that may be of megabytes
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) if (take(event, hear)) await drawn(); // before it reads on
  }
}

// take hears one event, and returns whether that is to be seen before what follows it.
function take(event, hear) {
  heard = Date.now();
  const data = (event.match(/^data: ?(.*)$/m) || [])[1] || '';
  return hear(data ? JSON.parse(data) : null);
}

// follow hears the daemon for as long as the page is open.
export async function follow({hear, lost, refused, locked}) {
  setInterval(() => {
    if (Date.now() - heard > 9000) listening.abort();
  }, 1000);
  setInterval(() => entrance.visit && ask('renew').catch(() => { /* the next one does */ }), renewEvery);
  for (;;) {
    try {
      const stream = await open();
      if (entrance.worthless) refused();
      if (stream) await listen(stream, hear);
    } catch (error) {
      console.warn(error); // mostly the connection's end
    }
    if (!entrance.visit && entrance.token === null) return locked(entrance.forgetful);
    lost();
    await new Promise((again) => setTimeout(again, 2000));
  }
}
