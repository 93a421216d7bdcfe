// One memory in a drawer: what it says, where that comes from, what it was before, and what can be done with it.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, dialog, field, h, icon, replace, skeleton } from '../parts.js';
import { problem, t as shellT } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/memories.js';

const t = speaking(words);

export function openMemory(app, id, { onchange = () => {}, onclose = () => {} } = {}) {
  const body = h('div', { class: 'stack' }, skeleton(6));
  const drawer = dialog({ title: t('detail'), kind: 'drawer', closing: shellT('close'), onclose }, body);
  load();

  async function load() {
    try {
      const [memory, { versions }] = await Promise.all([
        app.api.get(path`/v1/memories/${id}`, {}, app.signal),
        app.api.get(path`/v1/memories/${id}/versions`, {}, app.signal),
      ]);
      fill(memory, versions);
    } catch (error) {
      if (error.name !== 'AbortError') replace(body, problem(error, load));
    }
  }

  function fill(memory, versions) {
    replace(
      body,
      h('p', { class: 'full-text' }, memory.text),
      actions(memory),
      app.lacking('write'),
      details(memory),
      memory.evidence?.length > 0 && section(t('evidence'), evidence(memory.evidence)),
      Object.keys(memory.signals ?? {}).length > 0 && section(t('why'), signalBars(memory.signals)),
      Object.keys(memory.metadata ?? {}).length > 0 && section(t('metadata'), h('pre', { class: 'code' }, JSON.stringify(memory.metadata, null, 2))),
      section(t('versions'), history(versions)),
      erasing(memory),
    );
  }

  // Every change: do it, say it, show what is there now. `undo` offers the way back.
  async function change(control, work, said, { undo, close } = {}) {
    try {
      const result = await busy(control, work);
      app.toast(typeof said === 'function' ? said(result) : said, undo && { action: shellT('undo'), onaction: () => bringBack() });
      onchange();
      if (close) drawer.close();
      else await load();
    } catch (error) {
      app.failed(error);
    }
  }

  async function bringBack() {
    try {
      await app.api.act(path`/v1/memories/${id}/undo`);
      app.toast(t('restored'));
      onchange();
      if (drawer.isConnected) await load();
    } catch (error) {
      app.failed(error);
    }
  }

  function actions(memory) {
    const pin = button({ label: memory.pinned ? t('unpin') : t('pin'), icon: 'pin', small: true, title: t('pin.hint'), 'aria-pressed': String(memory.pinned) });
    pin.addEventListener('click', () =>
      change(pin, () => app.api.post(path`/v1/memories/${id}/pin`, { pinned: !memory.pinned }), memory.pinned ? t('unpin') : t('pinned')),
    );
    const edit = button({ label: t('edit'), icon: 'edit', small: true, onclick: () => editing(memory) });
    const forget = button({ label: t('forget'), icon: 'trash', small: true });
    forget.addEventListener('click', () =>
      change(forget, () => app.api.delete(path`/v1/memories/${id}`), t('forgot'), { undo: true, close: true }),
    );
    const votes = [true, false].map((useful) => {
      const vote = button({ label: t(useful ? 'useful' : 'useless'), icon: useful ? 'up' : 'down', small: true });
      vote.addEventListener('click', () => change(vote, () => app.api.post(path`/v1/memories/${id}/feedback`, { useful }), t('thanks')));
      return vote;
    });
    return h('div', { class: 'row' }, [pin, edit, forget, ...votes].map((control) => app.gated(control, 'write')));
  }

  function editing(memory) {
    const text = h('textarea', { rows: 5, value: memory.text });
    const weight = h('input', { type: 'number', min: 0, max: 1, step: 0.01, value: memory.importance?.toFixed(2) });
    const save = h('button', { class: 'button primary', type: 'submit' }, t('edit.save'));
    const form = h(
      'form',
      { class: 'stack' },
      field(t('edit.text'), text),
      field(t('edit.importance'), weight),
      h('div', { class: 'row' }, save, button({ label: shellT('cancel'), onclick: load })),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const changes = {};
      if (text.value !== memory.text) changes.text = text.value;
      if (weight.value && Number(weight.value).toFixed(2) !== memory.importance?.toFixed(2)) changes.importance = Number(weight.value);
      if (!Object.keys(changes).length) return load();
      change(save, () => app.api.patch(path`/v1/memories/${id}`, changes), t('edit.saved'), { undo: true });
    });
    replace(body, form);
    text.focus();
  }

  function erasing(memory) {
    const made = button({ label: t('erase'), icon: 'trash', kind: 'danger', small: true, onclick: () => confirmErase(memory) });
    return h('div', { class: 'row' }, app.gated(made, 'erase'), app.lacking('erase'));
  }

  function confirmErase() {
    const typed = h('input', { autocomplete: 'off', autocapitalize: 'none' });
    const sure = h('button', { class: 'button danger primary', type: 'submit', disabled: true }, t('erase'));
    typed.addEventListener('input', () => (sure.disabled = typed.value.trim().toLowerCase() !== t('erase.word')));
    const form = h(
      'form',
      { class: 'stack' },
      h('p', {}, t('erase.text')),
      field(t('erase.type', { word: t('erase.word') }), typed),
      h('div', { class: 'row' }, sure, button({ label: shellT('cancel'), onclick: () => asking.close() })),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (sure.disabled) return;
      change(sure, () => app.api.post('/v1/erase', { ids: [id] }), (erased) => (asking.close(), t('erased', erased)), { close: true });
    });
    const asking = dialog({ title: t('erase.title'), closing: shellT('close') }, form);
    typed.focus();
  }

  return drawer;
}

function section(title, ...children) {
  return h('section', { class: 'stack' }, h('h3', {}, title), children);
}

function details(memory) {
  const rows = [
    [t('said'), format.dateTime(memory.time, true)],
    memory.speaker && [t('speaker'), memory.speaker],
    memory.session && [t('session'), memory.session],
    [t('kind'), memory.kind],
    [t('weight'), format.number(memory.importance, 2)],
    memory.trust && [t('trust'), memory.trust],
    memory.accessed && [t('accessed'), format.dateTime(memory.accessed)],
    memory.flags?.length > 0 && [t('flags'), memory.flags.map((flag) => badge(flag, 'warn'))],
    [t('id'), h('code', {}, memory.id)],
  ].filter(Boolean);
  return h('dl', { class: 'facts-list' }, rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function evidence(all) {
  return h(
    'ul',
    { class: 'stack' },
    all.map((one) => {
      const href = one.record
        ? `#/memories/${encodeURIComponent(one.record)}`
        : `#/conversations/${encodeURIComponent(one.thread)}?message=${encodeURIComponent(one.message ?? '')}`;
      const name = one.record ? t('evidence.record') : t('evidence.thread', { thread: one.thread });
      return h('li', {}, h('a', { href, class: 'row' }, icon('link', 15), name));
    }),
  );
}

function history(versions) {
  if (!versions.length) return h('p', { class: 'muted' }, t('versions.none'));
  const reason = (text) => (`reason.${text}` in words.en ? t(`reason.${text}`) : text);
  return h(
    'ol',
    { class: 'versions' },
    [...versions].reverse().map((one) =>
      h(
        'li',
        {},
        h('p', {}, one.record.text),
        h('p', { class: 'muted small' }, t('version.until', { time: format.dateTime(one.until, true), reason: reason(one.reason) })),
      ),
    ),
  );
}
