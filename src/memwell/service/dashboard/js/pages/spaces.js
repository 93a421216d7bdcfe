// The spaces that a key may go to: how much is in each, and a way in.
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, empty, field, h, replace, skeleton, table } from '../parts.js';
import { own } from '../more.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/spaces.js';

const t = speaking(words);
const PAGE = 100;
const segmentsOf = (text) => text.split('/').map((part) => part.trim()).filter(Boolean);

export function show(root, app) {
  const state = { all: [], next: null };
  const mine = app.me.key.space.join('/');
  const name = h('input', { type: 'search', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', data: { search: '' } });
  const go = h('button', { class: 'button', type: 'submit' }, t('open'));
  const out = h('div', { 'aria-live': 'polite' });
  const form = h('form', { class: 'row', role: 'search' }, field(t('find'), name, { hint: t('find.hint'), wide: true }), go);
  const list = h('section', { class: 'card stack', id: 'spaces' }, skeleton(5));
  root.append(pageHead(t('title'), t(app.can('admin') ? 'lead.admin' : 'lead.spaces')), h('div', { class: 'stack' }, form, out, list));
  name.addEventListener('input', draw);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const segments = segmentsOf(name.value);
    if (segments.length) enter(segments, go);
    else name.focus();
  });
  load();

  async function load(cursor = null) {
    try {
      const page = await app.api.get('/v1/spaces', { limit: PAGE, cursor }, app.signal);
      state.all = [...state.all, ...page.items];
      state.next = page.next;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, () => load(cursor)));
    }
  }

  async function enter(segments, control) {
    replace(out);
    if (segments.join('/') === mine) return void app.go('overview');
    try {
      await busy(control, () => app.visit(segments));
    } catch (error) {
      replace(out, problem(error));
    }
  }

  function draw() {
    const wanted = segmentsOf(name.value).join('/').toLowerCase();
    const found = state.all.filter(({ space }) => space.join('/').toLowerCase().includes(wanted));
    if (!state.all.length) return void replace(list, empty({ icon: 'spaces', title: t('none'), text: t('none.text') }));
    const more = state.next && button({ label: shellT('more') });
    more?.addEventListener('click', () => busy(more, () => load(state.next)));
    const count = format.number(state.all.length);
    replace(
      list,
      h('h2', {}, state.next ? t('count.more', { count }) : t('count', { count: state.all.length })),
      found.length ? table(['space', 'memories', 'vectors'].map((key) => t(key)), found.map(row), { label: t('title'), classes: 'wide cards' }) : h('p', { class: 'muted' }, t('none.found')),
      more && h('div', { class: 'row' }, more),
    );
  }

  function row({ space, memories, vectors }) {
    const whole = space.join(' / ');
    const link = h('button', { type: 'button', class: 'as-link', 'aria-label': t('look', { space: whole }) }, own(whole));
    link.addEventListener('click', () => enter(space, link));
    return [h('span', {}, link, space.join('/') === mine && [' ', badge(t('mine'), 'accent')]), format.number(memories), format.number(vectors)];
  }
}
