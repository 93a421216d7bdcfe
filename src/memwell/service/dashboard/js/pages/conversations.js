// The conversations: all of them beside the one that is read.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { button, empty, h, icon, notice, replace, skeleton } from '../parts.js';
import { own } from '../more.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/conversations.js';
import { nameOf, reader } from './conversation.js';

const t = speaking(words);
const ASKED = 500;

export function show(root, app, where) {
  const state = { all: [], next: null, filter: '' };
  const list = h('div', { class: 'side-list', id: 'threads' }, skeleton(6));
  const filter = h('input', { type: 'search', 'aria-label': t('filter'), placeholder: t('filter'), autocomplete: 'off', data: { search: '' } });
  const begin = app.gated(button({ label: t('new'), icon: 'plus', text: false, onclick: () => start(app) }), 'write');
  const reading = h('section', { class: 'pane-main', 'aria-label': t('reading') });
  const panes = h('div', { class: 'panes' }, h('section', { class: 'pane-side', 'aria-label': t('list') }, h('div', { class: 'search' }, h('div', { class: 'box' }, icon('search'), filter), begin), list), reading);
  root.append(pageHead(t('title'), t('lead')), panes);
  let open = null;

  filter.addEventListener('input', () => {
    state.filter = filter.value.trim().toLowerCase();
    draw();
  });

  async function load(cursor = null) {
    try {
      const page = await app.api.get('/v1/threads', { limit: ASKED, cursor }, app.signal);
      state.all = [...(cursor ? state.all : []), ...page.items].sort((one, other) => Date.parse(other.updated) - Date.parse(one.updated));
      state.next = page.next;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, () => load()));
    }
  }

  function draw() {
    panes.classList.toggle('bare', !state.all.length);
    const fits = state.all.filter((one) => nameOf(one).toLowerCase().includes(state.filter) || one.thread.id.toLowerCase().includes(state.filter));
    replace(
      list,
      !state.all.length && h('p', { class: 'muted' }, t('none')),
      state.all.length > 0 && !fits.length && h('p', { class: 'muted' }, t('filtered')),
      h('ul', {}, fits.map((one) => h('li', {}, entry(one, open?.id)))),
      state.next && [notice('plain', t('partly', { count: state.all.length })), button({ label: shellT('more'), onclick: () => load(state.next) })],
    );
  }

  function moved(to) {
    const id = to.rest[0];
    panes.classList.toggle('open', Boolean(id));
    if (id && open?.id === id) open.find(to.query.get('message'));
    else {
      open = id ? reader(reading, app, id, { message: to.query.get('message'), onchange: () => load() }) : null;
      if (!id) replace(reading, nothing(app));
    }
    for (const link of list.querySelectorAll('a')) {
      if (link.dataset.id === id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }

  load();
  moved(where);
  return { moved };
}

function entry(info, open) {
  return h(
    'a',
    { href: `#/conversations/${encodeURIComponent(info.thread.id)}`, data: { id: info.thread.id }, 'aria-current': info.thread.id === open ? 'true' : null },
    h('strong', {}, own(nameOf(info))),
    h('span', { class: 'muted small row' }, h('time', { datetime: info.updated, title: format.dateTime(info.updated) }, format.ago(info.updated)), h('span', {}, t('count', { count: info.messages }))),
  );
}

function nothing(app) {
  return empty({
    icon: 'chat',
    title: t('choose.title'),
    text: t('choose.text'),
    action: app.can('write') && button({ label: t('new'), icon: 'plus', onclick: () => start(app) }),
  });
}

// A conversation begins with its first message, so a new one is only a name.
function start(app) {
  app.go(`conversations/${encodeURIComponent(`chat-${new Date().toISOString().slice(0, 16).replace('T', '-').replace(':', '')}`)}`);
}
