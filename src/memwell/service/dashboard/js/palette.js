// The palette: a page, an action or a name by a few letters; and the list of all keys.
import { language } from './language.js';
import { PAGES, mayOpen } from './pages.js';
import { dialog, h, icon, replace } from './parts.js';
import { setTheme, t } from './shell.js';

const SHOWN = 12;
const KEYS = [['Ctrl K', 'palette'], ['/', 'search'], ['j', 'next'], ['k', 'previous'], ['Enter', 'open'], ['x', 'pick'], ['Esc', 'close'], ['?', 'help']];

export function palette({ app, speak }) {
  const entries = entriesOf(app, speak);
  const list = h('ul', { class: 'palette-list', role: 'listbox', id: 'palette-list', 'aria-label': t('palette') });
  const input = h('input', { type: 'search', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'aria-label': t('palette'), placeholder: t('palette.hint'), autocomplete: 'off' });
  let fits = [];
  let at = 0;

  function draw() {
    const said = input.value.trim().toLowerCase();
    // What begins with the letters comes before what holds them, and that before what holds them inside of a word.
    const rank = ({ name }) => (name.toLowerCase().startsWith(said) ? 0 : name.toLowerCase().includes(` ${said}`) ? 1 : 2);
    fits = entries.filter((one) => one.name.toLowerCase().includes(said));
    if (said) fits.sort((one, other) => rank(one) - rank(other));
    if (said) fits = [...fits.slice(0, SHOWN), { name: t('palette.ask', { text: input.value.trim() }), icon: 'search', work: () => app.go('memories', { q: input.value.trim() }) }];
    at = Math.min(at, fits.length - 1);
    replace(list, fits.slice(0, SHOWN + 1).map((one, place) => h('li', { role: 'option', id: `palette-${place}`, 'aria-selected': String(place === at), onclick: () => choose(one), translate: one.own ? 'no' : null }, icon(one.icon, 16), h('span', {}, one.name))));
    input.setAttribute('aria-activedescendant', `palette-${at}`);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  }

  function choose(one) {
    shown.close();
    one?.work();
  }

  input.addEventListener('input', () => ((at = 0), draw()));
  input.addEventListener('keydown', (event) => {
    // A browser only empties a search box.
    if (event.key === 'Escape') (event.preventDefault(), shown.close());
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) (event.preventDefault(), (at = (at + by + fits.length) % fits.length), draw());
    if (event.key === 'Enter') (event.preventDefault(), choose(fits[at]));
  });
  const shown = dialog({ title: t('palette'), kind: 'modal palette', closing: t('close') }, input, list);
  draw();
  input.focus();
  addEventListener('hashchange', () => shown.close(), { once: true });
  // The names come when they come.
  app.api.get('/v1/profiles', {}, app.signal).then(({ items: subjects }) => {
    entries.push(...subjects.map(({ name }) => ({ name, icon: 'person', own: true, work: () => app.go(`people/${encodeURIComponent(name)}`) })));
    if (shown.isConnected) draw();
  }, () => {});
}

function entriesOf(app, speak) {
  const pages = PAGES.filter((page) => mayOpen(page, app.me)).map((page) => ({ name: t(`nav.${page.name}`), icon: page.icon, work: () => app.go(page.name) }));
  const dark = () => document.documentElement.dataset.theme === 'dark' || (document.documentElement.dataset.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  const actions = [
    app.can('write') && { name: t('palette.add'), icon: 'plus', work: () => app.go('memories', { add: 1 }) },
    { name: t('palette.theme'), icon: 'eye', work: () => setTheme(dark() ? 'light' : 'dark') },
    { name: t('palette.language'), icon: 'more', work: () => speak(language() === 'zh' ? 'en' : 'zh') },
    { name: t('keys.title'), icon: 'more', work: () => shortcuts() },
  ];
  return [...pages, ...actions.filter(Boolean)];
}

export function shortcuts() {
  dialog({ title: t('keys.title'), closing: t('close') }, h('dl', { class: 'facts-list shortcuts' }, KEYS.map(([key, name]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, t(`keys.${name}`))])));
}
