// The frame: the list of pages, the switches, the bar and the drawer of a phone; and what pages borrow from it.
import { session, told } from './api.js';
import { LANGUAGES, language, speaking } from './language.js';
import { GROUPS, PAGES, mayOpen } from './pages.js';
import { button, choice, copy, dialog, h, icon, notice, roved } from './parts.js';
import words from './words/shell.js';

export const t = speaking(words);

export function switches({ onlanguage }) {
  return h(
    'div',
    { class: 'switches' },
    choice({
      label: t('language'),
      small: true,
      value: language(),
      options: Object.entries(LANGUAGES).map(([key, name]) => [key, key === 'en' ? 'EN' : '中文', name]),
      onchange: onlanguage,
    }),
    choice({
      label: t('theme'),
      small: true,
      value: document.documentElement.dataset.theme,
      options: ['auto', 'light', 'dark'].map((name) => [name, t(`theme.${name}`)]),
      onchange: setTheme,
    }),
  );
}

export function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem('memwell.theme', name);
  } catch {
    // Then it holds until the page is closed.
  }
}

export function frame({ me, main, onlanguage, onsignout }) {
  const shown = PAGES.filter((page) => mayOpen(page, me));
  const foot = () => sideFoot({ me, onlanguage, onsignout });
  return h(
    'div',
    {},
    h('a', { class: 'skip', href: '#content', onclick: (event) => (event.preventDefault(), main.focus()) }, t('skip')),
    h(
      'div',
      { class: 'frame' },
      // Everything that stands on a page is in a landmark: this one, the main part, or the bar of a phone.
      h('header', { class: 'side', 'aria-label': t('side.label') }, brand(), navigation(shown), foot()),
      session.space ? h('div', { class: 'visit' }, visiting(me), main) : main,
      bottomBar(shown, foot),
    ),
  );
}

// In a space that is not the key's own: which it is, what may be done there, and the way back.
function visiting(me) {
  const space = h('bdi', { translate: 'no' }, h('strong', {}, session.space.join(' / ')));
  const may = looksInto(me) ? 'visit.looks' : 'visit.may';
  return h('div', { class: 'notice visiting', role: 'region', 'aria-label': t('visit.label') }, icon('eye'), h('div', { class: 'grow' }, space, ' · ', t(may)), h('a', { class: 'button small', href: '#/spaces' }, t('visit.back')));
}

function brand() {
  return h('a', { class: 'brand', href: '#/overview' }, icon('mark', 24), 'memwell');
}

function navigation(shown) {
  const links = [];
  const groups = GROUPS.map((group) => {
    const pages = shown.filter((page) => page.group === group);
    if (!pages.length) return null;
    const made = pages.map((page) => link(page));
    links.push(...made);
    return [h('h2', {}, t(`group.${group}`)), made];
  });
  const nav = h('nav', { class: 'nav', 'aria-label': t('nav.label') }, groups);
  nav.addEventListener('keydown', (event) => roved(event, links)?.focus());
  return nav;
}

function link(page, size = 18) {
  return h('a', { href: `#/${page.name}`, data: { page: page.name } }, icon(page.icon, size), h('span', {}, t(`nav.${page.name}`)));
}

function sideFoot({ me, onlanguage, onsignout }) {
  return h(
    'div',
    { class: 'side-foot' },
    h(
      'div',
      { class: 'who small' },
      h('strong', {}, me.key.name),
      h('span', { class: 'muted' }, t('who.space', { space: me.key.space.join(' / ') })),
      h('span', { class: 'muted' }, t('who.version', { version: me.version })),
    ),
    switches({ onlanguage }),
    button({ label: t('sign.out'), icon: 'out', kind: 'quiet', small: true, onclick: onsignout }),
  );
}

function bottomBar(shown, foot) {
  const more = h('button', { type: 'button', 'aria-haspopup': 'dialog' }, icon('more', 22), h('span', {}, t('nav.more')));
  more.addEventListener('click', () => {
    const menu = dialog({ title: 'memwell', kind: 'menu', label: t('nav.close') }, navigation(shown), foot());
    mark(location.hash.split(/[/?]/)[1] || 'overview');
    menu.addEventListener('click', (event) => event.target.closest('a') && menu.close());
  });
  return h(
    'nav',
    { class: 'bottom', 'aria-label': t('nav.label') },
    shown.filter((page) => page.thumb).map((page) => link(page, 22)),
    more,
  );
}

export function mark(name) {
  const under = PAGES.some((page) => page.name === name && !page.thumb);
  document.querySelector('.bottom > button')?.classList.toggle('here', under);
  for (const one of document.querySelectorAll('[data-page]')) {
    if (one.dataset.page === name) one.setAttribute('aria-current', 'page');
    else one.removeAttribute('aria-current');
  }
}

// A short message at the edge, with at most one thing to do about it. It waits while it is looked at.
export function toast(text, { action, onaction, seconds = 8 } = {}) {
  const box = document.getElementById('toasts');
  let timer;
  const gone = () => (clearTimeout(timer), node.remove(), box.childElementCount || box.hidePopover?.());
  const wait = () => (timer = setTimeout(gone, seconds * 1000));
  const node = h(
    'div',
    { class: 'toast', onmouseenter: () => clearTimeout(timer), onmouseleave: wait, onfocusin: () => clearTimeout(timer), onfocusout: wait },
    h('span', { class: 'grow' }, text),
    action && button({ label: action, small: true, onclick: () => (gone(), onaction()) }),
    button({ label: t('dismiss'), icon: 'close', small: true, text: false, onclick: gone }),
  );
  box.append(node);
  lift(box);
  wait();
  return gone;
}

// An open window covers everything but what comes after it into the top layer, and only what stands in it can be used.
function lift(box) {
  const above = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;
  if (box.parentElement !== above) above.append(box);
  if (!box.showPopover) return;
  box.popover = 'manual';
  if (box.matches(':popover-open')) box.hidePopover();
  box.showPopover();
}

// A problem as a box with its sentence, the service's own words, the number of the request, and a way to try again.
export function problem(error, again) {
  const { text, detail, request } = told(error);
  return notice(
    'error',
    h('p', {}, text),
    detail && h('p', { class: 'muted small' }, detail),
    request && h('p', { class: 'muted small mono' }, t('problem.request', { request })),
    again && h('p', {}, button({ label: t('problem.again'), icon: 'refresh', small: true, onclick: again })),
  );
}

export function failed(error) {
  if (error.name === 'AbortError' || error.status === 401) return;
  const { text, detail, request } = told(error);
  toast([text, detail, request && t('problem.request', { request })].filter(Boolean).join(' · '));
}

// An operator looks into a space of others; a key with the scope spaces is at home below its own.
export const looksInto = (me) => Boolean(session.space) && !me.key.scopes.includes('spaces');

// Why something cannot be done; empty where it can. Without a scope it reads, but leaves a job or a receipt in the space.
function withheld(scope, me) {
  if (looksInto(me) && scope !== 'read') return t('visit.only');
  return !scope || me.key.scopes.includes(scope) ? '' : t('scope.missing', { scope: t(`scope.${scope}`) });
}

// A control that needs a scope: without it it stays visible, cannot be used, and says why.
export function gated(control, scope, me) {
  const why = withheld(scope, me);
  if (!why) return control;
  control.disabled = true;
  control.title = why;
  return control;
}

// The same as a sentence, for where there is no pointer to hover with; nothing when the key has the scope.
export function lacking(scope, me) {
  const why = withheld(scope, me);
  return why ? h('p', { class: 'muted small' }, why) : null;
}

export function copyButton(text, label = t('copy')) {
  const made = button({ label, icon: 'copy', small: true });
  made.addEventListener('click', async () => {
    await copy(typeof text === 'function' ? text() : text);
    made.lastChild.textContent = t('copied');
    setTimeout(() => (made.lastChild.textContent = label), 1600);
  });
  return made;
}

export function pageHead(title, lead, ...controls) {
  return h(
    'div',
    { class: 'page-head' },
    h('div', {}, h('h1', { tabindex: -1 }, title), lead && h('p', {}, lead)),
    h('div', { class: 'row' }, controls),
  );
}

export function signOut() {
  session.key = null;
}
