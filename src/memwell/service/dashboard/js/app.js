// Where it begins: who is there, which page is asked for, and in which language.
import { api, refused, session, told } from './api.js';
import { language, setLanguage } from './language.js';
import { PAGES, mayOpen } from './pages.js';
import { empty, h, replace, skeleton } from './parts.js';
import { failed, frame, gated, lacking, mark, problem, signOut, t, toast } from './shell.js';
import { door, refusal, tried } from './signin.js';

const root = document.getElementById('app');
let me = null;
let main = null;
let tries = 0;
let shown = null; // { name, view, stop } of the page that is shown

// #/memories/some-id?q=text
function whereTo() {
  const [places, query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [name, ...rest] = places.split('/').filter(Boolean).map(decoded);
  return { name: name || 'overview', rest, query: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function go(name, query = {}, { quiet = false } = {}) {
  // A list stands in the address as often as it has values.
  const pairs = Object.entries(query).flatMap(([key, value]) => [value].flat().map((one) => [key, one]));
  const said = new URLSearchParams(pairs.filter(([, value]) => value != null && value !== '')).toString();
  const hash = `#/${name}${said ? `?${said}` : ''}`;
  if (quiet) history.replaceState(null, '', hash);
  else location.hash = hash;
}

// A key in the address is taken out before anything else happens: it must not stay in the history or be copied along.
// A link that was printed or opened by the service has a code instead, which works once.
async function keyFromAddress() {
  const given = /^#(?:.*&)?(key|once)=([^&]+)/.exec(location.hash);
  if (!given) return {};
  history.replaceState(null, '', location.pathname + location.search);
  const [, kind, value] = given;
  const before = session.key;
  // A link from elsewhere must not put somebody into another memory unseen.
  if (before && before !== decoded(value) && !confirm(t('sign.replace'))) return {};
  if (kind === 'key') return { key: decoded(value) };
  try {
    return { key: (await api.post('/v1/sign-in', { code: decoded(value) })).token };
  } catch (error) {
    return { sentence: error.status === 401 ? t('sign.link') : told(error).text };
  }
}

function setUp() {
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en';
  main = h('main', { class: 'page', id: 'content', tabindex: -1 });
  replace(root, frame({ me, main, onlanguage: speak, onsignout: () => leave() }));
}

function speak(name) {
  setLanguage(name);
  document.documentElement.lang = name === 'zh' ? 'zh-CN' : 'en';
  const focused = document.activeElement?.value;
  for (const open of document.querySelectorAll('dialog')) open.close();
  document.getElementById('toasts').replaceChildren();
  if (me) {
    stop();
    setUp();
    show({ focus: false });
  } else {
    ask();
  }
  // The switch was made anew, and whoever used it is still at it.
  root.querySelector(`.switches input[value="${focused}"]`)?.focus();
}

function ask(sentence) {
  stop();
  me = null;
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en';
  document.title = `${t('sign.title')} · memwell`;
  replace(root, door({ sentence, onlanguage: speak, onenter: enter }));
}

function enter(found) {
  me = found;
  setUp();
  show({ focus: true });
}

function leave(sentence) {
  signOut();
  for (const open of document.querySelectorAll('dialog')) open.close();
  document.getElementById('toasts').replaceChildren();
  ask(sentence);
}

function stop() {
  shown?.stop.abort();
  shown?.view?.leave?.();
  shown = null;
}

async function show({ focus = true } = {}) {
  const where = whereTo();
  // The list of spaces is the key's own: to go there is to come back from another space.
  if (where.name === 'spaces' && session.space) {
    session.space = null;
    await begin(session.key);
    return;
  }
  if (shown && shown.name === where.name && shown.view?.moved) {
    shown.view.moved(where);
    return;
  }
  stop();
  const page = PAGES.find((one) => one.name === where.name);
  const mine = (shown = { name: where.name, view: null, stop: new AbortController() });
  mark(where.name);
  delete main.dataset.shown;
  document.title = page ? `${t(`nav.${page.name}`)} · memwell` : 'memwell';
  if (!page || !mayOpen(page, me)) {
    replace(main, nothingHere(page));
    return;
  }
  replace(main, skeleton(4, 'block'));
  try {
    const module = await loaded(page);
    if (mine !== shown) return;
    replace(main);
    mine.view = module.show(main, context(mine.stop.signal), where) ?? {};
    main.dataset.shown = where.name;
    // Unless the page has put the focus somewhere itself.
    if (focus && !main.contains(document.activeElement) && !document.querySelector('dialog[open]')) main.querySelector('h1')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  } catch (error) {
    if (mine === shown) replace(main, problem(error, () => (tries > 1 ? location.reload() : show())));
  }
}

// A browser remembers that a file could not be fetched, for as long as the tab lives: under another address it is asked for again.
async function loaded(page) {
  try {
    return await page.load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    await reachable();
    tries += 1;
    return page.load(`?again=${tries}`);
  }
}

// A service that cannot be reached is told of as that, not as a file that failed.
async function reachable() {
  await api.get('/v1/me');
}

// What a page gets. `signal` ends what it asks for when it is left.
function context(signal) {
  return {
    api,
    me,
    signal,
    go,
    toast,
    failed,
    can: (scope) => me.key.scopes.includes(scope),
    gated: (control, scope) => gated(control, scope, me),
    lacking: (scope) => lacking(scope, me),
    visit,
  };
}

// Go on in another space, by its segments. Throws what the service says where the key may not go there.
async function visit(space) {
  session.space = space;
  try {
    const found = await api.get('/v1/me');
    stop();
    history.pushState(null, '', '#/overview');
    enter(found);
  } catch (error) {
    session.space = null;
    throw error;
  }
}

function nothingHere(page) {
  if (!page) {
    return empty({ icon: 'search', title: t('page.missing'), text: '', action: h('a', { class: 'button', href: '#/overview' }, t('page.home')) });
  }
  const text = t('scope.page', { scope: t(`scope.${[page.needs].flat()[0]}`), name: me.key.name });
  return empty({ icon: page.icon, title: t(`nav.${page.name}`), text });
}

// "/" goes to the search of a page, or to that of the memories; "j" and "k" go through the rows, "x" chooses one; "?" shows
// all keys, and Ctrl or Command with "k" opens the palette.
addEventListener('keydown', (event) => {
  if (!me) return;
  const opened = document.querySelector('dialog[open]');
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (!opened) help('palette');
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || opened) return;
  if (event.target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]')) return;
  const work = { '/': search, '?': () => help('shortcuts'), j: () => step(1), k: () => step(-1), x: pick }[event.key];
  if (work && work() !== false) event.preventDefault();
});

function search() {
  const box = main.querySelector('[data-search]');
  if (box) box.focus();
  else go('memories', { focus: 1 });
}

// The rows of a page have `data-row` on what opens them.
function step(by) {
  const rows = [...main.querySelectorAll('[data-row]')].filter((one) => one.checkVisibility());
  const at = rows.findIndex((one) => one === document.activeElement || one.closest('tr')?.contains(document.activeElement));
  const to = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  if (!to) return false;
  to.focus();
  to.scrollIntoView({ block: 'nearest' });
  return true;
}

function pick() {
  const box = document.activeElement?.closest('tr')?.querySelector('td.pick input');
  if (!box) return false;
  box.click();
  return true;
}

async function help(name) {
  const palette = await import('./palette.js');
  palette[name]({ app: context(new AbortController().signal), speak });
}

addEventListener('hashchange', async () => {
  const { key, sentence } = await keyFromAddress();
  if (key) begin(key);
  else if (me) show();
  else if (sentence) ask(sentence);
});

refused.then = (problem) => me && leave(refusal(problem, t('sign.ended')));

async function begin(key, sentence) {
  if (!key) {
    ask(sentence);
    return;
  }
  try {
    enter(await tried(key));
  } catch (error) {
    if (error.status === 401) {
      session.key = null;
      ask(refusal(error));
    } else if (session.space && error.status && error.status < 500) {
      // The key may no longer go to the space that was open.
      session.space = null;
      begin(key);
    } else {
      // The key may be good: a service that is starting again should not cost it.
      replace(root, h('main', { class: 'door', id: 'content' }, problem(error, () => begin(key))));
    }
  }
}

keyFromAddress().then(({ key, sentence }) => begin(key ?? session.key, sentence));
