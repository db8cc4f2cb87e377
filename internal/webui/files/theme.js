// Light or dark: as the system says, unless a person chose.
import {byId, put} from './dom.js';

const themes = [['', 'Auto', 'as your system'], ['light', 'Light', 'light'], ['dark', 'Dark', 'dark']];

// watchTheme shows the button that goes to the next theme. start.js sets the chosen one before
// anything is drawn.
export function watchTheme() {
  const button = byId('theme'), root = document.documentElement;
  const at = () => Math.max(0, themes.findIndex(([name]) => name === root.dataset.theme));
  const show = () => {
    const [, text, words] = themes[at()];
    put(button, text);
    button.setAttribute('aria-label', `Theme: ${text}, ${words}`);
    button.title = `Theme: ${words}`;
  };
  button.addEventListener('click', () => {
    const [name] = themes[(at() + 1) % themes.length];
    root.dataset.theme = name;
    window.stored.set('theme', name);
    show();
  });
  show();
}
