// One conversation: read from its newest end, searched, remembered, tried, deleted.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, empty, field, h, icon, replace, skeleton } from '../parts.js';
import { CONFIRM, confirmed, marked, own, short } from '../more.js';
import { problem } from '../shell.js';
import words from '../words/conversations.js';

const t = speaking(words);
const PAGE = 40;
const FURTHEST = 25;
const FOUND = 10;

export function reader(root, app, id, { message: wanted, onchange }) {
  const log = h('div', { class: 'chat', role: 'log', 'aria-live': 'off', tabindex: 0, 'aria-label': t('messages') }, skeleton(6));
  const head = h('div', { class: 'stack' });
  const results = h('div', { class: 'stack' });
  const state = { info: null, messages: [], next: null };
  replace(root, head, search(), results, log, writing());
  begin();

  async function begin() {
    Object.assign(state, { info: null, messages: [], next: null });
    heading();
    await older();
    try {
      // One that has not begun is nothing yet but a name.
      if (state.messages.length) state.info = await app.api.get(path`/v1/threads/${id}`, {}, app.signal);
      heading();
    } catch (error) {
      if (error.name !== 'AbortError') replace(head, problem(error, begin));
    }
    if (wanted) find(wanted);
    else log.scrollTop = log.scrollHeight;
  }

  function heading() {
    const { info } = state;
    const back = h('a', { class: 'button quiet small back', href: '#/conversations' }, t('back'));
    const remember = button({ label: t('remember'), icon: 'memories', small: true });
    remember.addEventListener('click', () => keep(remember));
    const remove = button({ label: t('delete'), icon: 'trash', kind: 'danger', small: true, onclick: asking });
    replace(
      head,
      h('div', { class: 'row between' }, h('div', {}, back, h('h2', {}, own(info ? nameOf(info) : id))), info && h('div', { class: 'row' }, app.gated(remember, 'write'), app.gated(remove, 'erase'))),
      info && h('p', { class: 'muted small row' }, nameOf(info) !== id && h('code', {}, id), h('span', {}, t('count', { count: info.messages })), h('span', {}, t('rounds', { count: info.rounds })), h('span', {}, t('tokens', { count: format.compact(info.tokens) })), h('span', {}, t('began', { time: format.dateTime(info.created) }))),
    );
  }

  async function older() {
    try {
      const page = await app.api.get(path`/v1/threads/${id}/messages`, { limit: PAGE, cursor: state.next, newest_first: true }, app.signal);
      state.messages = [...page.items.reverse(), ...state.messages];
      state.next = page.next;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError') replace(log, problem(error, begin));
    }
  }

  function draw() {
    const more = button({ label: t('older'), small: true });
    more.addEventListener('click', async () => {
      const [from, height] = [log.scrollTop, log.scrollHeight];
      await busy(more, older);
      // What was read stays where it was; the focus goes to what has come.
      log.scrollTop = from + log.scrollHeight - height;
      log.querySelector('.said')?.focus({ preventScroll: true });
    });
    let round = null;
    replace(
      log,
      state.next && h('div', { class: 'row centred' }, more),
      !state.messages.length && empty({ icon: 'chat', title: t('empty.title'), text: t('empty.text') }),
      state.messages.map((message) => {
        const begins = message.round != null && message.round !== round;
        round = message.round;
        return [begins && h('div', { class: 'round' }, h('span', {}, round ? t('round', { number: round }) : t('round.zero'))), bubble(message)];
      }),
    );
  }

  // A message may be far back: older ones are fetched until it is there, within reason.
  async function find(message) {
    if (!message) return;
    for (let step = 0; step < FURTHEST && state.next && !state.messages.some((one) => one.id === message); step += 1) await older();
    const node = log.querySelector(`[data-message="${CSS.escape(message)}"]`);
    if (!node) return void app.toast(t('far'));
    log.querySelector('.said.wanted')?.classList.remove('wanted');
    node.classList.add('wanted');
    node.scrollIntoView({ block: 'center' });
    node.focus({ preventScroll: true });
  }

  function search() {
    const query = h('input', { type: 'search', 'aria-label': t('search'), placeholder: t('search'), autocomplete: 'off' });
    const form = h('form', { class: 'search', role: 'search' }, h('div', { class: 'box' }, icon('search'), query), h('button', { class: 'button', type: 'submit' }, t('search.go')));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const asked = query.value.trim();
      if (!asked) return void replace(results);
      try {
        const { items: hits } = await app.api.post(path`/v1/threads/${id}/search`, { query: asked, limit: FOUND }, app.signal);
        replace(results, found(hits, asked));
      } catch (error) {
        if (error.name !== 'AbortError') replace(results, problem(error));
      }
    });
    query.addEventListener('input', () => query.value || replace(results));
    return form;
  }

  function found(hits, query) {
    if (!hits.length) return h('p', { class: 'muted', role: 'status' }, t('missed'));
    return h(
      'section',
      { class: 'card stack' },
      h('p', { class: 'muted', role: 'status' }, t('found', { count: hits.length })),
      h(
        'ul',
        { class: 'hits' },
        hits.map(({ message, score }) =>
          h(
            'li',
            {},
            h('button', { type: 'button', class: 'hit-link', onclick: () => find(message.id) }, h('span', { class: 'muted small' }, `${roleOf(message)} · ${format.dateTime(message.time)} · ${format.exact(score)}`), own(marked(short(textOf(message), 260), query))),
          ),
        ),
      ),
    );
  }

  function writing() {
    const text = h('textarea', { rows: 2, required: true });
    const role = h('select', {}, h('option', { value: 'user' }, t('role.human')), h('option', { value: 'assistant' }, t('role.ai')));
    const also = h('input', { type: 'checkbox' });
    const send = app.gated(h('button', { class: 'button primary', type: 'submit' }, t('send')), 'write');
    const form = h('form', { class: 'card stack' }, field(t('write'), text, { hint: t('write.hint') }), h('div', { class: 'row' }, field(t('as'), role, { bare: true }), h('label', { class: 'check' }, also, h('span', {}, t('also'))), send), app.lacking('write'));
    text.addEventListener('keydown', (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && form.requestSubmit());
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      try {
        await busy(send, () => app.api.post(path`/v1/threads/${id}/messages`, { messages: [{ role: role.value, content: text.value }], remember: also.checked }, app.signal));
        text.value = '';
        wanted = null;
        await begin();
        onchange();
      } catch (error) {
        app.failed(error);
      }
    });
    return form;
  }

  async function keep(control) {
    try {
      const { count } = await busy(control, () => app.api.act(path`/v1/threads/${id}/remember`));
      app.toast(t('remembered', { count }), count > 0 ? { action: t('remembered.see'), onaction: () => app.go('memories') } : {});
    } catch (error) {
      app.failed(error);
    }
  }

  function asking() {
    confirmed({
      title: t('delete.title'),
      text: t('delete.text', { count: state.info.messages }),
      word: CONFIRM(),
      go: t('delete'),
      work: async () => {
        await app.api.delete(path`/v1/threads/${id}`);
        app.toast(t('deleted'));
        onchange();
        app.go('conversations');
      },
    });
  }

  return { id, find };
}

export function nameOf(info) {
  const { title, name } = info.metadata ?? {};
  return [title, name].find((one) => typeof one === 'string' && one.trim()) ?? info.thread.id;
}

const roleOf = (message) => message.chat_role ?? (`role.${message.role}` in words.en ? t(`role.${message.role}`) : message.role);

function bubble(message) {
  return h(
    'article',
    { class: `said r-${message.role}${message.hidden || message.role === 'view' ? ' unsent' : ''}`, tabindex: -1, data: { message: message.id } },
    h(
      'header',
      {},
      h('strong', {}, roleOf(message), message.name && [' · ', own(message.name)]),
      h('time', { datetime: message.time, class: 'muted' }, format.dateTime(message.time)),
      message.hidden && badge(t('hidden'), 'warn'),
      message.role === 'view' && badge(t('view'), 'warn'),
    ),
    message.parts.map(part),
  );
}

// Each kind of part in its own shape; what is long and technical is folded.
function part(one) {
  if (one.type === 'text') return h('p', { class: 'words', translate: 'no' }, one.text);
  if (one.type === 'tool_call') return folded(t('tool.call', { name: one.name }), typeof one.arguments === 'string' ? one.arguments : JSON.stringify(one.arguments ?? {}, null, 2));
  if (one.type === 'tool_result') return folded(t(one.is_error ? 'tool.error' : 'tool.result', { name: one.name ?? one.call_id }), (one.content ?? []).map((piece) => piece.text ?? `[${piece.type}]`).join('\n'));
  if (one.type === 'opaque') return folded(one.kind, JSON.stringify(one.data, null, 2));
  return h('p', { class: 'row' }, icon('file', 16), badge(t(`media.${one.type}`)), own(one.text || nameOfMedia(one)));
}

function nameOfMedia({ url, media_type: type, blob }) {
  if (url && !url.startsWith('data:')) return url.split(/[?#]/)[0].split('/').pop() || url;
  return type ?? blob?.slice(0, 12) ?? t('media.unnamed');
}

function folded(title, text) {
  return h('details', {}, h('summary', {}, own(title)), h('pre', { class: 'code' }, text));
}

function textOf(message) {
  return message.parts.map((one) => one.text ?? (one.type === 'tool_call' ? one.name : (one.content ?? []).map((piece) => piece.text ?? '').join(' '))).join(' ');
}
