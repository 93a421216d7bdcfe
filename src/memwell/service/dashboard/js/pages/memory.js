// One memory in a drawer: what it says, where that comes from, what it was before, and what can be done with it.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, dialog, field, h, icon, notice, replace, skeleton } from '../parts.js';
import { short } from '../more.js';
import { kindName, speakerName, trustName } from '../names.js';
import { problem, t as shellT } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/memories.js';

const t = speaking(words);

// `forgotten` is a memory as the list of the forgotten has it: the service shows it nowhere else. `hit` is one as it was found.
export function openMemory(app, id, { forgotten = null, hit = null, onchange = () => {}, onclose = () => {} } = {}) {
  const body = h('div', { class: 'stack' }, skeleton(6));
  const drawer = dialog({ title: t('detail'), kind: 'drawer', closing: shellT('close'), onclose }, body);
  if (forgotten) fillForgotten(forgotten);
  else load();

  async function load() {
    try {
      const [memory, { items: versions }] = await Promise.all([
        app.api.get(path`/v1/memories/${id}`, {}, app.signal),
        app.api.get(path`/v1/memories/${id}/versions`, {}, app.signal),
      ]);
      fill(memory, versions);
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.status === 404) await lookBack(error);
      else replace(body, problem(error, load));
    }
  }

  // What cannot be read may have been forgotten, or stand behind the memory that it was merged into.
  async function lookBack(missing) {
    const where = JSON.stringify({ '@id': id });
    const page = await app.api.get('/v1/memories', { forgotten: true, where, limit: 10 }, app.signal).catch(() => ({ items: [] }));
    if (page.items.length) return void fillForgotten(page.items[0]);
    replace(body, problem(missing), h('p', { class: 'muted' }, t('gone.text')), h('div', { class: 'row' }, backControl()));
  }

  function backControl(version = null) {
    const control = button({ label: t('back'), icon: 'undo', small: true });
    control.addEventListener('click', () => busy(control, () => bringBack(version)));
    return app.gated(control, 'write');
  }

  function fillForgotten(memory) {
    replace(
      body,
      h('div', { class: 'notice warn' }, icon('undo'), h('p', {}, t('forgotten.note'))),
      h('p', { class: 'full-text', translate: 'no' }, memory.text),
      h('div', { class: 'row' }, backControl(memory.version)),
      app.lacking('write'),
      details(memory),
      erasing(),
    );
  }

  // The reasons in words; what replaced it is named by its text, which is a link to it.
  function whyOf({ why, superseded_by: newer }) {
    if (!newer || !why.includes(newer)) return why;
    const link = h('a', { class: 'newer', href: `#/memories/${encodeURIComponent(newer)}`, translate: 'no' }, newer);
    app.api.get(path`/v1/memories/${newer}`, {}, app.signal).then((found) => (link.textContent = `“${short(found.text, 80)}”`), () => {});
    const [before, after] = why.split(newer);
    return [before, link, after];
  }

  function fill(memory, versions) {
    replace(
      body,
      h('p', { class: 'full-text' }, memory.text),
      actions(memory),
      app.lacking('write'),
      details(memory),
      memory.evidence?.length > 0 && section(t('evidence'), evidence(memory.evidence)),
      hit && section(t('why'), h('p', { class: 'why' }, whyOf(hit)), signalBars(hit.signals, hit)),
      Object.keys(memory.metadata ?? {}).length > 0 && section(t('metadata'), h('pre', { class: 'code' }, JSON.stringify(memory.metadata, null, 2))),
      section(t('versions'), undoing(memory, versions), history(memory, versions)),
      hiddenUpTo(memory, versions) >= 0 && notice('warn', h('p', {}, t('secret.kept'))),
      erasing(),
    );
  }

  // The last change can be taken back as long as there is a version before it.
  function undoing(memory, versions) {
    if (!versions.length) return null;
    const last = versions.at(-1);
    const control = button({ label: t('undo.last'), icon: 'undo', small: true, title: reasonOf(last, versions.length - 1, memory, versions) });
    const work = () => change(control, () => undo(memory.version), t('undone'));
    control.addEventListener('click', () => (hiddenUpTo(memory, versions) === versions.length - 1 ? sure(t('undo.secret'), t('undo.last'), work) : work()));
    return h('div', { class: 'row' }, app.gated(control, 'write'), h('span', { class: 'muted small' }, reasonOf(last, versions.length - 1, memory, versions)));
  }

  function sure(text, label, work) {
    const go = button({ label, kind: 'primary', onclick: () => (asking.close(), work()) });
    const asking = dialog({ title: label, closing: shellT('close') }, h('p', {}, text), h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => asking.close() })));
  }

  // A change is taken back as long as nothing came after it: `version` is the one that it made.
  const undo = (version) => app.api.post(path`/v1/memories/${id}/undo`, { version });

  // Every change: do it, say it, show what is there now. `after` tells the version that was made, and offers the way back.
  async function change(control, work, said, { after, close } = {}) {
    try {
      const result = await busy(control, work);
      app.toast(typeof said === 'function' ? said(result) : said, after && { action: shellT('undo'), onaction: () => bringBack(after(result)) });
      onchange();
      if (close) drawer.close();
      else await load();
    } catch (error) {
      app.failed(error);
    }
  }

  async function bringBack(version = null) {
    try {
      await undo(version);
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
      change(pin, () => app.api.post(path`/v1/memories/${id}/pin`, { pinned: !memory.pinned }), memory.pinned ? t('unpinned') : t('pinned'), { after: (changed) => changed.version }),
    );
    const edit = button({ label: t('edit'), icon: 'edit', small: true, onclick: () => editing(memory) });
    const forget = button({ label: t('forget'), icon: 'trash', small: true });
    forget.addEventListener('click', () =>
      change(forget, () => app.api.act(path`/v1/memories/${id}/forget`), t('forgot'), { after: () => memory.version + 1, close: true }),
    );
    const votes = [true, false].map((useful) => {
      const vote = button({ label: t(useful ? 'useful' : 'useless'), icon: useful ? 'up' : 'down', small: true });
      vote.addEventListener('click', () => change(vote, () => app.api.post(path`/v1/memories/${id}/feedback`, { useful }), t('thanks'), { after: (changed) => changed.version }));
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
      change(save, () => app.api.patch(path`/v1/memories/${id}`, changes), t('edit.saved'), { after: (changed) => changed.version });
    });
    replace(body, form);
    text.focus();
  }

  function erasing() {
    const made = button({ label: t('erase'), icon: 'trash', kind: 'danger', small: true, onclick: confirmErase });
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
      change(sure, () => app.api.post('/v1/erase', { ids: [id] }), (erased) => (asking.close(), erasedText(erased)), { close: true });
    });
    const asking = dialog({ title: t('erase.title'), closing: shellT('close') }, form);
    typed.focus();
  }

  return drawer;
}

function erasedText(erased) {
  const parts = ['memories', 'versions', 'facts'].filter((name) => erased[name]).map((name) => t(`erased.${name}`, { count: erased[name] }));
  return t('erased', { what: format.list(parts.length ? parts : [t('erased.memories', { count: 0 })]) });
}

function section(title, ...children) {
  return h('section', { class: 'stack' }, h('h3', {}, title), children);
}

function details(memory) {
  const rows = [
    [t('said'), format.dateTime(memory.time, true)],
    memory.speaker && [t('speaker'), speakerName(memory.speaker)],
    memory.session && [t('session'), memory.session],
    [t('kind'), kindName(memory.kind)],
    [t('weight'), format.number(memory.importance, 2)],
    memory.trust && [t('trust'), trustName(memory.trust)],
    memory.accessed && [t('accessed'), format.dateTime(memory.accessed)],
    memory.flags?.length > 0 && [t('flags'), memory.flags.map((flag) => badge(flag, 'warn'))],
    [t('id'), h('code', { class: 'whole', translate: 'no' }, memory.id)],
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

const textAfter = (at, memory, versions) => (at + 1 < versions.length ? versions[at + 1].record.text : memory.text);

// The last version that an audit blacked out. What came before it may hold the secret as well; -1 when there is none.
function hiddenUpTo(memory, versions) {
  return versions.findLastIndex((one, at) => one.reason.startsWith('audit:') && one.record.text !== textAfter(at, memory, versions));
}

// What ended a version, in words. A newer service, or an application, may give reasons that this page does not know.
function reasonOf(version, at, memory, versions) {
  const { reason, record } = version;
  if (reason.startsWith('audit:')) return t(record.text === textAfter(at, memory, versions) ? 'reason.audit.forgot' : 'reason.audit.hid');
  if (reason.startsWith('merged into ')) return t('reason.merged.into');
  return `reason.${reason}` in words.en ? t(`reason.${reason}`) : reason;
}

function history(memory, versions) {
  if (!versions.length) return h('p', { class: 'muted' }, t('versions.none'));
  const hidden = hiddenUpTo(memory, versions);
  const row = (one, at) => {
    const same = one.record.text === textAfter(at, memory, versions);
    const until = t('version.until', { time: format.dateTime(one.until, true), reason: reasonOf(one, at, memory, versions) });
    return h('li', {}, !same && (at <= hidden ? masked(one.record.text) : h('p', { translate: 'no' }, one.record.text)), h('p', { class: 'muted small' }, until, same && [' · ', t('version.same')], weightChange(one, at, memory, versions)));
  };
  return h('ol', { class: 'versions' }, versions.map(row).reverse());
}

// A vote changes nothing but the importance, so that is told.
function weightChange(one, at, memory, versions) {
  const before = one.record.metadata?.memwell?.importance;
  const after = at + 1 < versions.length ? versions[at + 1].record.metadata?.memwell?.importance : memory.importance;
  if (before == null || after == null || Math.abs(before - after) < 0.005) return null;
  return [' · ', t('version.weight', { before: format.number(before, 2), after: format.number(after, 2) })];
}

function masked(text) {
  const shown = h('p', { class: 'muted' }, '•••••• ', t('secret.hidden'));
  const show = button({ label: t('secret.show'), icon: 'eye', kind: 'quiet', small: true, onclick: () => (shown.replaceWith(h('p', { translate: 'no' }, text)), show.remove()) });
  return h('div', { class: 'row between' }, shown, show);
}
