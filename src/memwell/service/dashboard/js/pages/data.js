// Everything in and out as files, and the jobs that did it.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { badge, busy, button, choice, field, h, notice, replace, skeleton, table } from '../parts.js';
import { dropZone, far, followed, line, sent } from '../jobs.js';
import { own, progress, save } from '../more.js';
import { actionName } from '../names.js';
import { copyButton, problem } from '../shell.js';
import words from '../words/audit.js';

const t = speaking(words);
const NOTES = 20;

export function data(body, app) {
  const jobs = h('section', { class: 'card' }, skeleton(3));

  async function recent() {
    try {
      const { items: all } = await app.api.get('/v1/jobs', {}, app.signal);
      replace(jobs, h('h2', {}, t('jobs')), all.length ? listed(app, all.slice(0, 15)) : h('p', { class: 'muted' }, t('jobs.none')));
    } catch (error) {
      if (error.name !== 'AbortError') replace(jobs, problem(error, recent));
    }
  }

  replace(body, h('div', { class: 'boxes' }, exporting(app, recent), importing(app, recent)), app.can('admin') && backup(), jobs);
  recent();
}

async function fetched(app, job) {
  save(await app.api.blob(path`/v1/jobs/${job.id}/file`, {}, app.signal), job.file || `memwell-${job.id}`);
}

function exporting(app, recent) {
  const asked = { format: 'jsonl' };
  const vectors = h('input', { type: 'checkbox' });
  const extra = h('label', { class: 'check' }, vectors, h('span', {}, t('export.vectors')));
  const go = app.gated(button({ label: t('export.go'), icon: 'download', kind: 'primary' }), null);
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  go.addEventListener('click', async () => {
    try {
      await busy(go, async () => {
        const job = await app.api.post('/v1/exports', { format: asked.format, vectors: asked.format === 'jsonl' && vectors.checked }, app.signal);
        const done = await followed(app, job, (now) => replace(out, h('span', { class: 'muted small' }, far(now).text), progress(far(now).share, far(now).text)));
        await fetched(app, done);
        replace(out, h('p', { class: 'muted' }, t('export.done', { count: format.number(done.result?.written ?? 0), name: done.file })));
      });
      recent();
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  const pick = choice({ label: t('export.format'), value: asked.format, options: ['jsonl', 'markdown'].map((one) => [one, t(`export.${one}`)]), onchange: (one) => ((asked.format = one), (extra.hidden = one !== 'jsonl')) });
  return h('section', { class: 'card stack', data: { part: 'export' } }, h('h2', {}, t('export')), h('p', { class: 'muted' }, t('export.text')), h('div', {}, pick), extra, h('div', { class: 'row' }, go), app.lacking(null), out);
}

function importing(app, recent) {
  const user = h('input', { autocomplete: 'off' });
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  const take = async ([file]) => {
    const told = line(file.name);
    replace(out, h('ul', { class: 'uploads' }, told.node));
    if (!file.size) return void told.refused(t('import.empty'));
    told.sending(0);
    try {
      const job = await sent('/v1/imports', { name: file.name, user: user.value.trim() || null }, file, { onprogress: told.sending, signal: app.signal });
      const { result } = await followed(app, job, told.working);
      told.done(t('import.done'));
      out.append(report(result));
      recent();
    } catch (error) {
      if (error.name !== 'AbortError') told.failed(error);
    }
  };
  const zone = dropZone(app, { title: t('import'), hint: t('import.text'), label: t('import.choose'), multiple: false, onfiles: take });
  return h('section', { class: 'stack', data: { part: 'import' } }, zone, h('details', {}, h('summary', {}, t('import.more')), field(t('import.user'), user, { hint: t('import.user.hint') })), out);
}

// A backup is the whole store with every space, so it is made where the store is, and not sent to a browser.
function backup() {
  const lines = ['memwell backup backups/ --store app.db --keep 7', 'memwell restore backups/FILE --store app.db --force'];
  return h('section', { class: 'card stack', data: { part: 'backup' } }, h('h2', {}, t('backup')), h('p', { class: 'muted' }, t('backup.text')), lines.map((line, at) => [at > 0 && h('p', { class: 'muted' }, t('backup.restore')), h('div', { class: 'row' }, h('pre', { class: 'code grow', tabindex: 0 }, line), copyButton(line))]));
}

function report(result) {
  if (!result) return h('p', { class: 'muted' }, t('import.done'));
  const counts = Object.entries(result.counts ?? {}).filter(([, count]) => count);
  const notes = (all) => h('ul', { class: 'notes' }, all.slice(0, NOTES).map((one) => h('li', {}, own(typeof one === 'string' ? one : Object.values(one).join(' · ')))));
  return h(
    'div',
    { class: 'card stack' },
    h('p', {}, t('import.report', { format: result.format, known: format.number(result.known) })),
    h('dl', { class: 'facts-list' }, counts.map(([name, count]) => [h('dt', {}, `count.${name}` in words.en ? t(`count.${name}`) : name), h('dd', {}, format.number(count))])),
    !counts.length && h('p', { class: 'muted' }, t('import.nothing')),
    result.failed > 0 && notice('warn', h('p', {}, t('import.failed', { count: result.failed })), notes(result.problems)),
    result.skipped?.length > 0 && h('details', {}, h('summary', {}, t('import.skipped', { count: result.skipped.length })), notes(result.skipped)),
    result.hints?.length > 0 && notes(result.hints),
  );
}

function listed(app, all) {
  const rows = all.map((job) => {
    const get = job.file && job.status === 'done' && button({ label: t('job.get'), icon: 'download', small: true });
    if (get) get.addEventListener('click', () => busy(get, () => fetched(app, job)).catch(app.failed));
    return [actionName(job.action), badge(t(`status.${job.status}`), job.status === 'failed' ? 'bad' : job.status === 'done' ? 'accent' : ''), h('time', { datetime: job.created, title: format.dateTime(job.created, true) }, format.ago(job.created)), job.problem ? own(job.problem.detail || job.problem.title) : get || ''];
  });
  return table([t('job.what'), t('job.status'), t('job.when'), ''], rows, { label: t('jobs'), classes: 'cards' });
}
