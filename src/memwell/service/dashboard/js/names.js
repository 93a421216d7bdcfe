// What the service calls things, in the language of the page. A name it does not know stays as it is.
import { language, speaking } from './language.js';
import { h } from './parts.js';
import words from './words/names.js';

const t = speaking(words);
const SHORT = 14;

const known = (group, name) => (`${group}.${name}` in words.en ? t(`${group}.${name}`) : name);

export const kindName = (kind) => known('kind', kind);
export const speakerName = (speaker) => known('speaker', speaker);
export const actionName = (action) => known('action', action);
export const trustName = (trust) => known('trust', trust);

// The other way: what somebody typed as a kind, in either language.
export function kindTyped(text) {
  const found = [language(), 'en', 'zh'].flatMap((one) => Object.entries(words[one])).find(([key, name]) => key.startsWith('kind.') && name === text.toLowerCase());
  return found ? found[0].slice('kind.'.length) : text;
}

// The beginning of a long id; the whole of it when it is pointed at.
export function shortId(id) {
  const text = id.length > SHORT + 2 ? `${id.slice(0, SHORT)}…` : id;
  return h('code', { title: text === id ? null : id, translate: 'no' }, text);
}
