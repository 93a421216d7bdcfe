// What is done with several memories at once, and a new one.
import { path } from '../api.js';
import { speaking } from '../language.js';
import { busy, button, dialog, field, h, replace } from '../parts.js';
import { confirmed, save } from '../more.js';
import { problem, t as shellT } from '../shell.js';
import words from '../words/memories.js';

const t = speaking(words);
const AT_ONCE = 6;

// { node, pick(memory, box), clear() }: a bar that is there while memories are chosen.
export function bulk({ app, onchange }) {
  const picked = new Map();
  const told = h('strong', { class: 'number' });
  const control = (label, icon, scope, work, kind) => {
    const made = button({ label, icon, kind, small: true });
    made.addEventListener('click', () => work(made).catch(app.failed));
    return scope ? app.gated(made, scope) : made;
  };
  const node = h(
    'div',
    { class: 'card row bulk', hidden: true, role: 'region', 'aria-label': t('bulk') },
    told,
    control(t('forget'), 'trash', 'write', forget),
    control(t('pin'), 'pin', 'write', pin),
    control(t('bulk.save'), 'download', null, saved),
    control(t('erase'), 'trash', 'erase', erase, 'danger'),
    button({ label: t('bulk.clear'), kind: 'quiet', small: true, onclick: clear }),
  );

  function draw() {
    node.hidden = !picked.size;
    told.textContent = t('bulk.count', { count: picked.size });
  }

  function pick(memory, box) {
    if (box.checked) picked.set(memory.id, { memory, box });
    else picked.delete(memory.id);
    box.closest('tr').classList.toggle('picked-row', box.checked);
    draw();
  }

  function clear() {
    for (const { box } of picked.values()) {
      box.checked = false;
      box.closest('tr').classList.remove('picked-row');
    }
    picked.clear();
    draw();
  }

  const chosen = () => [...picked.values()].map(({ memory }) => memory);

  async function forget(control) {
    const all = chosen();
    const { ids } = await busy(control, () => app.api.post('/v1/forget', { ids: all.map((one) => one.id) }));
    const gone = all.filter((one) => ids.includes(one.id));
    app.toast(t('bulk.forgot', { count: gone.length }), { action: shellT('undo'), onaction: () => back(gone) });
    onchange();
  }

  // Only what was forgotten here is restored: a memory that was changed since keeps its change.
  async function back(gone) {
    try {
      await each(gone, (one) => app.api.post(path`/v1/memories/${one.id}/undo`, { version: one.version + 1 }));
      app.toast(t('bulk.restored', { count: gone.length }));
    } catch (error) {
      app.failed(error);
    }
    onchange();
  }

  async function pin(control) {
    const all = chosen();
    await busy(control, () => each(all, (one) => app.api.post(path`/v1/memories/${one.id}/pin`, { pinned: true })));
    app.toast(t('bulk.pinned', { count: all.length }));
    onchange();
  }

  async function saved() {
    const fields = ['id', 'text', 'time', 'speaker', 'session', 'kind', 'importance', 'metadata'];
    const lines = chosen().map((one) => JSON.stringify(Object.fromEntries(fields.map((name) => [name, one[name]]))));
    save(new Blob([`${lines.join('\n')}\n`], { type: 'application/jsonl' }), 'memories.jsonl');
  }

  async function erase() {
    const all = chosen();
    confirmed({
      title: t('bulk.erase.title', { count: all.length }),
      text: t('bulk.erase.text', { count: all.length }),
      word: t('erase.word'),
      go: t('erase'),
      work: async () => {
        const erased = await app.api.post('/v1/erase', { ids: all.map((one) => one.id) });
        app.toast(t('erased', { what: t('erased.memories', { count: erased.memories }) }));
        onchange();
      },
    });
  }

  return { node, pick, clear };
}

async function each(all, work) {
  const left = [...all];
  const one = async () => {
    while (left.length) await work(left.shift());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

export function adding(app, onadded) {
  const text = h('textarea', { rows: 4, required: true });
  const inputs = { speaker: h('input', { autocomplete: 'off' }), session: h('input', { autocomplete: 'off' }), kind: h('input', { autocomplete: 'off' }), time: h('input', { type: 'datetime-local' }) };
  const metadata = h('textarea', { rows: 2, placeholder: '{"project": "apollo"}', spellcheck: 'false', class: 'mono' });
  const go = h('button', { class: 'button primary', type: 'submit' }, t('add.go'));
  const out = h('div', {});
  const form = h(
    'form',
    { class: 'stack', id: 'new-memory' },
    field(t('edit.text'), text, { hint: t('add.text.hint') }),
    h('div', { class: 'fields' }, field(t('speaker'), inputs.speaker), field(t('session'), inputs.session), field(t('kind'), inputs.kind), field(t('said'), inputs.time)),
    field(t('metadata'), metadata, { hint: t('add.metadata.hint') }),
    out,
    h('div', { class: 'row' }, go, button({ label: shellT('cancel'), onclick: () => shown.close() })),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const asked = { content: text.value.trim() };
      for (const name of ['speaker', 'session', 'kind']) if (inputs[name].value.trim()) asked[name] = inputs[name].value.trim();
      if (inputs.time.value) asked.time = new Date(inputs.time.value).toISOString();
      if (metadata.value.trim()) asked.metadata = read(metadata.value);
      const { ids, rejected = [] } = await busy(go, () => app.api.post('/v1/memories', asked, app.signal));
      if (!ids.length) return void replace(out, h('p', {}, t('add.refused', { reasons: rejected.flatMap((one) => one.reasons ?? []).join(', ') })));
      shown.close();
      app.toast(t('added'));
      onadded(ids[0]);
    } catch (error) {
      replace(out, error instanceof SyntaxError ? h('p', { role: 'alert' }, t('add.metadata.wrong')) : problem(error));
    }
  });
  const shown = dialog({ title: t('add'), closing: shellT('close') }, form);
  text.focus();
}

function read(text) {
  const found = JSON.parse(text);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new SyntaxError('no object');
  return found;
}
