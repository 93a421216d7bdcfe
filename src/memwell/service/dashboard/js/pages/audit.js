// The audit: what in the memory should not be there, and what to do about it.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, empty, h, icon, notice, replace, skeleton } from '../parts.js';
import { far, followed } from '../jobs.js';
import { progress, short } from '../more.js';
import { pageHead, problem, t as shellT } from '../shell.js';
import words from '../words/audit.js';

const t = speaking(words);
const KINDS = ['secret', 'junk', 'duplicate', 'near_duplicate', 'contradiction', 'stale', 'oversize', 'broken'];
const MENDS = ['redact', 'merge', 'forget', 'embed'];
const SHOWN = 12;

export function show(root, app) {
  const body = h('div', { class: 'stack' });
  root.append(pageHead(t('title'), t('lead')), body);
  audit(body, app);
}

function audit(body, app) {
  const out = h('div', { class: 'stack' }, skeleton(3, 'block'));
  // What was repaired since the page was opened, newest first. What was merged is listed nowhere else.
  const repaired = h('div', {});
  const steps = [];
  const run = app.gated(button({ label: t('run'), icon: 'shield', kind: 'primary' }), null);
  const status = h('div', { class: 'grow', 'aria-live': 'polite' });
  replace(body, h('div', { class: 'card row' }, run, app.lacking(null), status), repaired, out);
  run.addEventListener('click', () => look());
  latest();

  // The last audit is still there for a week: it need not be made again to be seen.
  async function latest() {
    try {
      const { items: jobs } = await app.api.get('/v1/jobs', {}, app.signal);
      const done = jobs.find((job) => job.action === 'audit' && job.status === 'done' && job.result);
      if (done) tell(done);
      else replace(out, empty({ icon: 'shield', title: t('none.title'), text: t('none.text') }));
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error, latest));
    }
  }

  async function look() {
    try {
      const done = await busy(run, async () => {
        const job = await app.api.act('/v1/audit', app.signal);
        return followed(app, job, (now) => replace(status, h('span', { class: 'muted small' }, far(now).text), progress(far(now).share, far(now).text)));
      });
      tell(done);
    } catch (error) {
      replace(status);
      if (error.name !== 'AbortError') replace(out, problem(error, look));
    }
  }

  function tell({ result, updated }) {
    replace(status, h('span', { class: 'muted' }, t('looked', { count: format.number(result.records), ago: format.ago(updated) })));
    if (!result.problems.length) return void replace(out, empty({ icon: 'check', title: t('clean.title'), text: t('clean.text') }));
    const state = { chosen: new Set(result.problems.filter((one) => MENDS.includes(one.action.verb))), texts: new Map() };
    const bar = repairing(state, result);
    replace(
      out,
      h('dl', { class: 'tiles' }, KINDS.filter((kind) => result.counts[kind]).map((kind) => h('div', { class: 'tile' }, h('dt', {}, t(`kind.${kind}`)), h('dd', {}, format.number(result.counts[kind])), h('dd', { class: 'note' }, t(`note.${kind}`))))),
      result.left_out > 0 && notice('plain', t('left_out', { count: format.number(result.left_out) })),
      KINDS.map((kind) => group(kind, result.problems.filter((one) => one.kind === kind), state, bar)),
      bar.node,
    );
  }

  function group(kind, problems, state, bar) {
    if (!problems.length) return null;
    const list = h('ul', { class: 'problems' });
    const draw = (most) => replace(list, problems.slice(0, most).map((one) => h('li', {}, row(one, state, bar))), problems.length > most && h('li', {}, button({ label: t('more', { count: problems.length - most }), small: true, onclick: () => (draw(most + 5 * SHOWN), list.children[most]?.querySelector('input:enabled, a')?.focus()) })));
    draw(SHOWN);
    return h('section', { class: 'card stack', data: { kind } }, h('div', { class: 'row' }, h('h2', {}, t(`kind.${kind}`)), badge(format.number(problems.length))), list);
  }

  function row(one, state, bar) {
    const box = h('input', { type: 'checkbox', checked: state.chosen.has(one), disabled: !MENDS.includes(one.action.verb) || !app.can('write') });
    box.addEventListener('change', () => (box.checked ? state.chosen.add(one) : state.chosen.delete(one), bar.draw()));
    const what = h('a', { href: `#/memories/${encodeURIComponent(one.record)}`, translate: 'no' }, one.record);
    textOf(one.record, state).then((text) => (what.textContent = text));
    const named = one.code === 'facts' ? one.action.others?.[0] : one.details?.other;
    const other = named && named !== one.record ? named : null;
    const reason = h('span', { class: 'muted small' });
    tellReason(reason, one, other, state);
    return h('div', { class: 'problem-row' }, h('label', { class: 'check' }, box, badge(t(`verb.${one.action.verb}`), one.action.verb === 'review' || one.action.verb === 'shorten' ? 'warn' : 'accent')), h('div', { class: 'grow' }, h('div', {}, what), reason));
  }

  async function tellReason(node, one, other, state) {
    node.textContent = reasonOf(one, other);
    if (other && one.code !== 'replaced') node.textContent = reasonOf(one, await textOf(other, state));
  }

  // A result holds no texts. Those that are shown are asked for, each once.
  function textOf(id, state) {
    if (!state.texts.has(id)) {
      state.texts.set(id, app.api.get(path`/v1/memories/${id}`, {}, app.signal).then((memory) => short(memory.text, 200), () => t('gone', { id })));
    }
    return state.texts.get(id);
  }

  function repairing(state, result) {
    const go = h('button', { type: 'button', class: 'button primary' });
    const node = h('div', { class: 'card row between repair-bar' }, h('p', { class: 'muted' }, icon('undo', 16), ' ', t('repair.hint')), go);
    const draw = () => {
      go.textContent = t('repair', { count: state.chosen.size });
      go.disabled = !state.chosen.size;
      app.gated(go, 'write');
    };
    go.addEventListener('click', async () => {
      try {
        const chosen = [...state.chosen];
        const actions = chosen.map((one) => one.action);
        const { done, skipped } = await busy(go, () => app.api.post('/v1/repair', { actions }, app.signal));
        const left = new Set(skipped.map((action) => action.record));
        app.toast([t('repaired', { count: done }), left.size ? t('repaired.skipped', { count: left.size }) : ''].join(' ').trim());
        // A vector that was made is nothing to take back.
        const taken = chosen.filter((one) => one.action.verb !== 'embed' && !left.has(one.record));
        steps.unshift(...taken.map((one) => stepOf(one, state)));
        tellMended();
        look();
      } catch (error) {
        app.failed(error);
      }
    });
    draw();
    node.hidden = !result.problems.some((one) => MENDS.includes(one.action.verb));
    return { node, draw };
  }

  // One step that was taken, with its way back.
  function stepOf({ action, record }, state) {
    const text = h('a', { href: `#/memories/${encodeURIComponent(record)}`, translate: 'no' }, record);
    // The words of what is gone were asked for before; of what was blacked out only what is left may be shown.
    const known = action.verb === 'redact' ? app.api.get(path`/v1/memories/${record}`, {}, app.signal).then((memory) => short(memory.text, 200)) : textOf(record, state);
    known.then((words) => (text.textContent = words), () => {});
    const undo = button({ label: shellT('undo'), icon: 'undo', small: true });
    undo.addEventListener('click', async () => {
      try {
        // Only the step itself is taken back, and no change that came after it.
        const version = action.version == null ? null : action.version + 1;
        await busy(undo, () => app.api.post(path`/v1/memories/${record}/undo`, { version }, app.signal));
        const told = h('span', { class: 'muted small', tabindex: -1 }, t('repaired.undone'));
        undo.replaceWith(told);
        told.focus();
      } catch (error) {
        app.failed(error);
      }
    });
    return h('li', {}, h('div', { class: 'problem-row' }, badge(t(`done.${action.verb}`), 'accent'), h('div', { class: 'grow' }, text), app.gated(undo, 'write')));
  }

  function tellMended() {
    const heading = h('h2', { tabindex: -1 }, t('repaired.title', { count: steps.length }));
    replace(repaired, h('section', { class: 'card stack', id: 'repaired' }, heading, h('p', { class: 'muted' }, t('repaired.hint')), h('ul', { class: 'problems' }, steps)));
    heading.focus();
  }
}

// Why it is a problem, in the language of the page; a newer service may know reasons that this page does not.
function reasonOf(one, other) {
  const key = `code.${one.code}`;
  if (!(key in words.en)) return one.action.reason;
  const why = one.details?.why;
  const values = { ...one.details, ...(other ? { other: short(other, 120) } : {}) };
  for (const name of ['length', 'most', 'days']) if (values[name] != null) values[name] = format.number(values[name]);
  if (why) values.why = `junk.${why}` in words.en ? t(`junk.${why}`) : why;
  return t(key, values);
}
