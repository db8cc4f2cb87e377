// What the daemon tells is put on the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function make(tag, text = '', className = '', tone = '') {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (className) element.className = className;
  if (tone) element.dataset.tone = tone;
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
  return element;
}

// refill fills in what was drawn anew; the focus stays on the button that is called the same.
export function refill(element, children) {
  const focus = document.activeElement, label = element.contains(focus) ? focus.getAttribute('aria-label') || focus.textContent : '';
  fill(element, children);
  if (label) [...element.querySelectorAll('button')].find((each) => (each.getAttribute('aria-label') || each.textContent) === label)?.focus({preventScroll: true});
}

// draw makes a part of a picture.
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(byId('drawing').namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// arrange makes children exactly those of a list, in its order, moves as few as it can,
// and keeps the focus where it is.
export function arrange(parent, children) {
  const focus = document.activeElement;
  let here = parent.firstElementChild;
  for (const child of children) {
    if (child === here) here = here.nextElementSibling;
    else parent.insertBefore(child, here);
  }
  while (here) {
    const gone = here;
    here = here.nextElementSibling;
    gone.remove();
  }
  if (focus !== document.activeElement && parent.contains(focus)) focus.focus({preventScroll: true});
}

// drawn waits until what stands on the page is on the screen, also on a slow one, so that
// nothing else has the processor before. A page that nobody sees draws nothing.
export const drawn = async () => document.hidden || new Promise((again) => {
  requestAnimationFrame(() => setTimeout(again));
  setTimeout(again, 500);
});
