// The views of the page: which one is shown is in the address, so that each can be bookmarked.

const names = ['sessions', 'queue', 'history', 'fleet'];

// current returns the view that the address names.
export function current() {
  const name = location.hash.startsWith('#/') ? location.hash.slice(2) || 'sessions' : '';
  return names.includes(name) ? name : '';
}

// watchViews shows the view of the address; entered has what each does when it is shown, and left
// when another one is.
export function watchViews(entered) {
  let shown = 'sessions';
  const show = () => {
    const view = current();
    if (!view || view === shown) return; // the name of a session is in the address: the view stays
    entered[shown]?.(false);
    shown = view;
    document.body.dataset.view = view;
    for (const link of document.querySelectorAll('nav a')) {
      if (link.dataset.view === view) link.ariaCurrent = 'page';
      else link.ariaCurrent = null;
    }
    scrollTo(0, 0);
    entered[view]?.(true);
  };
  addEventListener('hashchange', show);
  show();
}
