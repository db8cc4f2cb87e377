// A question to the person, at the lower edge of the page. It stops nothing else.
import {byId, put} from './dom.js';

let answer = null; // ends the question that is asked

// question asks, and returns whether the answer is yes. The focus goes to the answer that changes
// nothing, and back afterwards.
export function question(text, yes, no) {
  answer?.(false);
  const box = byId('ask'), before = document.activeElement;
  put(byId('ask-text'), text);
  put(byId('ask-yes'), yes);
  put(byId('ask-no'), no);
  box.hidden = false;
  byId('ask-no').focus();
  return new Promise((done) => {
    answer = (given) => {
      answer = null;
      const inside = box.contains(document.activeElement);
      box.hidden = true;
      if (inside && before?.isConnected) before.focus({preventScroll: true});
      done(given);
    };
  });
}

// dismiss answers no, and reports whether anything was asked.
export function dismiss() {
  const asked = answer !== null;
  answer?.(false);
  return asked;
}

export function watchAnswers() {
  byId('ask-yes').addEventListener('click', () => answer?.(true));
  byId('ask-no').addEventListener('click', dismiss);
}
