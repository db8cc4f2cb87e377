// The keys of the page, from its load on.
import {dismiss} from './ask.js';
import {byId} from './dom.js';
import {showLegend} from './strip.js';

const steps = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1};

// watchKeys connects the keys: move goes to the next row or the one before, pick selects one, find
// looks for something, leave ends what a person sees beside the list.
export function watchKeys({move, pick, find, leave}) {
  const help = byId('help'), button = byId('keys');
  const toggleHelp = () => {
    if (help.open) help.close();
    else {
      showLegend(byId('key'));
      help.show();
    }
    button.setAttribute('aria-expanded', help.open);
    (help.open ? byId('help-close') : button).focus();
  };
  button.addEventListener('click', toggleHelp);
  byId('help-close').addEventListener('click', toggleHelp);
  const keys = {'/': find, '?': toggleHelp, x: pick};
  addEventListener('keydown', (event) => {
    const {key, target} = event, typing = target.matches?.('input:not([type=checkbox]), textarea, select');
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.body.dataset.locked === '') return;
    if (key === 'Escape') {
      if (dismiss()) return;
      if (help.open) toggleHelp();
      else leave(target);
      return;
    }
    const arrow = key.startsWith('Arrow'), inside = target.closest?.('#drawer, #help, #ask');
    if (typing && !(arrow && target.matches('#search'))) return;
    const step = steps[key];
    if (step && !(arrow && inside)) { // what is beside the list scrolls by arrows
      event.preventDefault();
      move(step, event.repeat);
    } else if (!typing && keys[key]) {
      event.preventDefault();
      keys[key](target);
    }
  });
}
