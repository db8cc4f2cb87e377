// A part of the page that could not be loaded, as from a daemon that just restarts, leaves
// nothing that could ask again: the page is loaded anew.
addEventListener('error', (event) => {
  if (event.target instanceof HTMLScriptElement || event.target instanceof HTMLLinkElement) setTimeout(() => location.reload(), 1500);
}, true);
