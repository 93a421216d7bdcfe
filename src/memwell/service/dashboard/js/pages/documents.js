// Documents and media: taken in, asked, opened at the place that answers, removed.
import { api, path, session } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { badge, busy, button, choice, empty, field, h, icon, notice, replace, skeleton, table, tabs } from '../parts.js';
import { dropZone, followed, line, sent } from '../jobs.js';
import { CONFIRM, confirmed, marked, own, size } from '../more.js';
import { pageHead, problem } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/documents.js';
import { openDocument } from './document.js';
import { media } from './media.js';

const t = speaking(words);
const ACCEPT = '.pdf,.docx,.md,.markdown,.txt,.html,.htm,.csv,.tsv,.json,.jsonl';
const PASSAGES = 8;
const SHOWN = 200;
const EVERY_MS = 3000;
const asked = { question: '', way: 'answer' };

export function show(root, app, where) {
  const tab = where.query.get('tab') === 'media' ? 'media' : 'documents';
  const body = h('div', { class: 'stack' });
  const choose = tabs({ label: t('tabs'), options: ['documents', 'media'].map((one) => [one, t(`tab.${one}`)]), value: tab, onchange: (one) => app.go('documents', { tab: one === 'media' ? one : null }) });
  root.append(pageHead(t('title'), t('lead')), h('div', { class: 'stack' }, choose, body));
  if (tab === 'media') media(body, app);
  else documents(body, app);
}

function documents(body, app) {
  const list = h('section', { class: 'card', id: 'documents-list' }, skeleton(4));
  const uploads = h('ul', { class: 'uploads', 'aria-live': 'polite' });
  const question = asking(app);
  const pending = h('div', { role: 'status' });

  async function load() {
    try {
      const { items: all } = await app.api.get('/v1/documents', {}, app.signal);
      all.sort((one, other) => Date.parse(other.time) - Date.parse(one.time));
      question.hidden = !all.length;
      embedding(all.length);
      replace(list, all.length ? [h('h2', {}, t('all', { count: all.length })), listed(app, all, load)] : empty({ icon: 'file', title: t('none.title'), text: t('none.text') }));
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, load));
    }
  }

  // What still lacks its vectors is found by its words alone: that is told until it is over.
  async function embedding(any) {
    const { vectors } = any ? await app.api.get('/v1/pending', {}, app.signal).catch(() => ({ vectors: 0 })) : { vectors: 0 };
    if (app.signal.aborted) return;
    replace(pending, vectors > 0 && h('p', { class: 'muted small row' }, icon('refresh', 15), t('embedding', { count: format.number(vectors) })));
    clearTimeout(later);
    if (vectors > 0) later = setTimeout(() => embedding(true), EVERY_MS);
  }
  let later = 0;
  app.signal.addEventListener('abort', () => clearTimeout(later));

  // One after the other: the service reads them in that order anyway.
  const onfiles = async (files) => {
    for (const file of files) await take(file, uploads);
  };
  reload = load;
  resumed(app, uploads);
  replace(
    body,
    question,
    h('div', { class: 'boxes' }, dropZone(app, { title: t('drop.title'), hint: t('drop.hint'), label: t('drop.choose'), accept: ACCEPT, onfiles }), fetching(app, uploads)),
    uploads,
    pending,
    list,
  );
  load();
}

// What is on its way in goes on when the page is left, and is shown again by whoever comes back with the same key.
const going = new Map(); // the node of its line: { key, job }
let reload = () => {};

async function underWay(told, uploads, begin) {
  const mine = { key: session.key, job: null };
  going.set(told.node, mine);
  uploads.prepend(told.node);
  try {
    const job = await begin();
    mine.job = job.id;
    const { result } = await followed({ api }, job, told.working);
    told.done(t('taken', { count: result?.chunks ?? result?.documents?.[0]?.chunks ?? 0 }));
    reload();
  } catch (error) {
    if (error.name !== 'AbortError') told.failed(error);
  } finally {
    going.delete(told.node);
  }
}

async function take(file, uploads) {
  const told = line(file.name);
  if (!file.size) {
    uploads.prepend(told.node);
    return void told.refused(t('empty.file'));
  }
  told.sending(0);
  return underWay(told, uploads, () => sent('/v1/documents/upload', { name: file.name }, file, { onprogress: told.sending }));
}

// Also after the page was loaded anew, when only the service still knows of them.
async function resumed(app, uploads) {
  const mine = [...going].filter(([, one]) => one.key === session.key);
  uploads.prepend(...mine.map(([node]) => node));
  const { items: jobs } = await app.api.get('/v1/jobs', {}, app.signal).catch(() => ({ items: [] }));
  const known = new Set([...going.values()].map((one) => one.job));
  for (const job of jobs) {
    const runs = ['upload_document', 'fetch_document'].includes(job.action) && ['waiting', 'running'].includes(job.status);
    // One whose number is not known yet may be among those that are shown.
    if (runs && !known.has(job.id) && !mine.some(([, one]) => !one.job)) underWay(line(t(`job.${job.action}`)), uploads, async () => job);
  }
}

function fetching(app, uploads) {
  const url = h('input', { type: 'url', required: true, autocomplete: 'off' });
  const go = app.gated(h('button', { class: 'button', type: 'submit' }, t('fetch.go')), 'write');
  const out = h('div', {});
  const form = h('form', { class: 'card stack', data: { part: 'fetch' }, novalidate: true }, h('h2', {}, t('fetch.title')), h('p', { class: 'muted' }, t('fetch.hint')), field(t('fetch.address'), url), h('div', { class: 'row' }, go), app.lacking('write'), out);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const given = url.value.trim();
    if (!/^https?:\/\/[^\s/]+/i.test(given)) {
      replace(out, notice('error', h('p', {}, t(given ? 'fetch.scheme' : 'fetch.empty'))));
      return void url.focus();
    }
    replace(out);
    try {
      const job = await busy(go, () => app.api.post('/v1/documents/fetch', { url: given }, app.signal));
      url.value = '';
      underWay(line(given), uploads, async () => job);
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  return form;
}

function listed(app, all, load) {
  const rows = all.slice(0, SHOWN).map((one) => {
    const name = h('a', { href: '#/documents', onclick: (event) => (event.preventDefault(), openDocument(app, one)) }, own(one.title || one.source || one.id));
    const remove = app.gated(button({ label: t('remove'), icon: 'trash', text: false, small: true, kind: 'quiet', onclick: () => removing(app, one, load) }), 'erase');
    return [
      h('div', {}, name, one.title && one.source && h('div', { class: 'muted small' }, own(one.source)), (one.warnings ?? []).map((warning) => h('div', { class: 'small warning' }, icon('alert', 14), own(warning)))),
      kindOf(one.media_type),
      size(one.size),
      one.pages == null ? format.NOTHING : format.number(one.pages),
      format.number(one.chunks),
      h('time', { datetime: one.time, title: format.dateTime(one.time) }, format.ago(one.time)),
      remove,
    ];
  });
  return [table([...['name', 'kind', 'size', 'pages', 'chunks', 'added'].map((key) => t(key)), ''], rows, { label: t('tab.documents'), classes: 'wide cards' }), all.length > SHOWN && h('p', { class: 'muted' }, t('partly', { count: SHOWN }))];
}

function kindOf(type) {
  return badge((type.split('/').pop() ?? type).replace(/^vnd\..*wordprocessingml.*$/, 'docx').toUpperCase());
}

function removing(app, one, load) {
  confirmed({
    title: t('remove.title'),
    text: t('remove.text', { name: one.title || one.source || one.id }),
    word: CONFIRM(),
    go: t('remove'),
    work: async () => {
      await app.api.delete(path`/v1/documents/${one.id}`);
      app.toast(t('removed'));
      load();
    },
  });
}

function asking(app) {
  const question = h('input', { type: 'search', value: asked.question, 'aria-label': t('ask.label'), placeholder: t('ask.hint'), autocomplete: 'off', data: { search: '' } });
  const go = h('button', { class: 'button primary', type: 'submit' }, t('ask.go'));
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  const way = choice({ label: t('way'), value: asked.way, options: ['answer', 'passages'].map((one) => [one, t(`way.${one}`)]), onchange: (one) => ((asked.way = one), question.value.trim() && form.requestSubmit()) });
  const form = h('form', { class: 'stack', role: 'search', hidden: true, id: 'ask' }, h('div', { class: 'search' }, h('div', { class: 'box' }, icon('search'), question), way, go), out);
  let earlier = new AbortController();
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    asked.question = question.value.trim();
    // Another question takes the place of one that is still being answered.
    earlier.abort();
    const mine = (earlier = new AbortController());
    if (!asked.question) return void (go.removeAttribute('aria-busy'), replace(out));
    const now = AbortSignal.any([app.signal, mine.signal]);
    go.setAttribute('aria-busy', 'true');
    replace(out, h('p', { class: 'muted', role: 'status' }, t('asking'), ' ', own(asked.question)), skeleton(3));
    try {
      const answer = await (asked.way === 'answer' ? answered(app, asked.question, now) : passages(app, asked.question, now));
      replace(out, h('p', { class: 'asked' }, h('span', { class: 'muted' }, t('asked'), ' '), own(asked.question)), answer);
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
    if (mine === earlier) go.removeAttribute('aria-busy');
  });
  return form;
}

async function answered(app, question, signal) {
  const answer = await app.api.post('/v1/ask', { question }, signal);
  const open = (number) => answer.sources[number - 1] && openDocument(app, { id: answer.sources[number - 1].citation.document }, answer.sources[number - 1].citation);
  return h(
    'section',
    { class: 'card stack answer' },
    h('p', { class: 'full-text', translate: 'no' }, cited(answer.text, open)),
    h('p', { class: 'muted small' }, t(!answer.supported ? 'unsupported' : answer.extractive ? 'extractive' : 'written'), answer.note && [' ', own(answer.note)]),
    answer.sources.length > 0 &&
      h(
        'ol',
        { class: 'sources' },
        answer.sources.map((source, at) => h('li', {}, h('button', { type: 'button', class: 'hit-link', onclick: () => open(at + 1) }, h('span', { class: 'muted small' }, `[${at + 1}] `, own(placeOf(source.citation))), own(marked(source.text, question))))),
      ),
  );
}

// "… a year. [1]" with the number as a button.
function cited(text, open) {
  return text.split(/(\[\d+\])/).map((part) => (/^\[\d+\]$/.test(part) ? h('button', { type: 'button', class: 'cite', 'aria-label': t('source', { number: part.slice(1, -1) }), onclick: () => open(Number(part.slice(1, -1))) }, part) : part));
}

function placeOf({ source, title, page, headings = [] }) {
  const name = source || title;
  return [page == null ? name : t('place.page', { name, page }), ...headings].join(' › ');
}

async function passages(app, query, signal) {
  const { items: found } = await app.api.post('/v1/documents/recall', { query, limit: PASSAGES, language: language() }, signal);
  if (!found.length) return empty({ icon: 'search', title: t('missed'), text: t('missed.text') });
  return found.map((one) =>
    h(
      'article',
      { class: 'memory hit' },
      h('button', { type: 'button', class: 'text', onclick: () => openDocument(app, { id: one.citation.document }, one.citation) }, marked(one.text.replace(/\n{2,}/g, '\n'), query)),
      h('div', { class: 'meta' }, h('span', { class: 'score' }, format.exact(one.score)), own(one.place), (one.flags ?? []).map((flag) => badge(flag, 'warn'))),
      h('div', { class: 'explained' }, h('p', { class: 'why' }, h('b', {}, t('why'), ' '), one.why), signalBars(one.signals, { why: one.why })),
    ),
  );
}
