// How the page is let in. This is the first script and no module, so that the daemon is
// asked while all the other parts of the page are still being read.
'use strict';

// What lets the page in: first the token of its link, then a key. That is kept for
// this tab and this port alone; a cookie would be sent to every port.
class Entrance {
  token = new URLSearchParams(location.search).get('token');
  key = '';
  worthless = false; // the token let nobody in

  constructor() {
    try {
      this.key = sessionStorage.getItem('key') || '';
    } catch { /* a browser that keeps nothing shows the page until it is reloaded */ }
  }

  keep(key) {
    this.key = key;
    try {
      sessionStorage.setItem('key', key);
    } catch { /* likewise */ }
  }

  // show returns what a request is sent with.
  show(options, what = `Bearer ${this.key}`) {
    return {...options, headers: {Authorization: what}};
  }

  // stream returns the daemon's events, or null to whom they are not given. The token of a
  // link opens it too, and then a key is the first that it tells; the address that stays in the
  // browser does not have the token. An EventSource could show neither.
  async stream(signal) {
    if (this.token !== null) {
      const answer = await fetch('/events', this.show({signal}, `Link ${encodeURIComponent(this.token)}`));
      history.replaceState(null, '', location.pathname + location.hash);
      this.token = null;
      if (answer.ok) return answer.body;
      this.worthless = true; // but a tab that was let in before may go on
    }
    if (!this.key) return null;
    const answer = await fetch('/events', this.show({signal}));
    if (answer.status === 401) this.keep('');
    return answer.ok ? answer.body : null;
  }
}

window.entrance = new Entrance();
window.listening = new AbortController(); // ends the stream that is read
window.opening = window.entrance.stream(window.listening.signal);
window.opening.catch(() => { /* who follows it hears of that */ });
