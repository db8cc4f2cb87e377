// Light or dark: as the system says, unless a person chose.
import {byId, put} from './dom.js';

const themes = ['', 'light', 'dark'];

// watchTheme shows the button that goes to the next theme. start.js sets the chosen one before
// anything is drawn.
export function watchTheme() {
  const button = byId('theme'), root = document.documentElement;
  const show = () => put(button, `Theme: ${root.dataset.theme || 'auto'}`);
  button.title = 'auto is as your system';
  button.addEventListener('click', () => {
    const name = themes[(themes.indexOf(root.dataset.theme || '') + 1) % themes.length];
    root.dataset.theme = name;
    window.stored.set('theme', name);
    show();
  });
  show();
}
