// How the page is let in. This is the first script and no module, so that the daemon is
// asked while all the other parts of the page are still being read.
'use strict';

// stored is what the browser keeps for this origin, which no other port can read. A browser that
// keeps nothing shows the page until it is reloaded.
window.stored = {
  get(name) {
    try {
      return localStorage.getItem(name) || '';
    } catch {
      return '';
    }
  },
  set(name, value) {
    try {
      if (value) localStorage.setItem(name, value);
      else localStorage.removeItem(name);
    } catch { /* as above */ }
  },
};

// The token of a link is exchanged for a visit: a path that only this page knows, and a cookie
// that the browser sends for that path alone.
class Entrance {
  token = new URLSearchParams(location.search).get('token');
  visit = window.stored.get('visit');
  worthless = false; // the token let nobody in
  forgetful = false; // the browser does not keep the cookie

  keep(visit) {
    this.visit = visit;
    window.stored.set('visit', visit);
  }

  path(of) {
    return `/at/${this.visit}/${of}`;
  }

  // enter shows the token of a link. The address that stays in the browser does not have it.
  async enter(signal) {
    const answer = await fetch('/enter', {method: 'POST', signal, headers: {Authorization: `Link ${encodeURIComponent(this.token)}`}});
    history.replaceState(null, '', location.pathname + location.hash);
    this.token = null;
    if (answer.ok) this.keep(await answer.text());
    else this.worthless = true; // but a browser that was let in before may go on
    return answer.ok;
  }

  // stream returns the daemon's events, or null if the page is not let in.
  async stream(signal) {
    const entered = this.token !== null && await this.enter(signal);
    if (!this.visit) return null;
    const answer = await fetch(this.path('events'), {signal});
    if (answer.status === 401) {
      this.forgetful = entered;
      this.keep('');
    }
    return answer.ok ? answer.body : null;
  }
}

document.documentElement.dataset.theme = window.stored.get('theme');
window.entrance = new Entrance();
window.listening = new AbortController(); // ends the stream that is read
window.opening = window.entrance.stream(window.listening.signal);
window.opening.catch(() => { /* follow of door.js hears of that */ });
