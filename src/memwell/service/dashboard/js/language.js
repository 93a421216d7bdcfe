// The two languages. A page brings its words as { en: {…}, zh: {…} } and gets a function that says them.

const REMEMBERED = 'memwell.language';
export const LANGUAGES = { en: 'English', zh: '中文' };

let current = remembered() || (navigator.language || 'en').toLowerCase().split('-')[0];
if (!(current in LANGUAGES)) current = 'en';

function remembered() {
  try {
    return localStorage.getItem(REMEMBERED);
  } catch {
    return null;
  }
}

export function language() {
  return current;
}

export function locale() {
  return current === 'zh' ? 'zh-CN' : navigator.language?.startsWith('en') ? navigator.language : 'en';
}

export function setLanguage(name) {
  if (!(name in LANGUAGES)) return;
  current = name;
  try {
    localStorage.setItem(REMEMBERED, name);
  } catch {
    // A browser that keeps nothing still shows the language until it is closed.
  }
}

// t('key', {name: 'Ann'}) fills {name}; t('key', {count: 1}) prefers 'key|one' where the language has it.
export function speaking(words) {
  return (key, values = {}) => {
    const table = words[current];
    const single = String(values.count) === '1' ? table[`${key}|one`] : undefined;
    const text = single ?? table[key];
    if (text === undefined) {
      console.error(`no words for "${key}" in ${current}`);
      return key;
    }
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  };
}
