// Documents and media: taken in, asked, opened at the place that answers, removed.
import { path } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { badge, busy, button, choice, empty, field, h, icon, replace, skeleton, table, tabs } from '../parts.js';
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

  async function load() {
    try {
      const { documents: all } = await app.api.get('/v1/documents', {}, app.signal);
      all.sort((one, other) => Date.parse(other.time) - Date.parse(one.time));
      question.hidden = !all.length;
      replace(list, all.length ? [h('h2', {}, t('all', { count: all.length })), listed(app, all, load)] : empty({ icon: 'file', title: t('none.title'), text: t('none.text') }));
    } catch (error) {
      if (error.name !== 'AbortError') replace(list, problem(error, load));
    }
  }

  async function take(file) {
    const told = line(file.name);
    uploads.prepend(told.node);
    told.sending(0);
    try {
      const job = await sent('/v1/documents/upload', { name: file.name }, file, { onprogress: told.sending, signal: app.signal });
      const { result } = await followed(app, job, told.working);
      told.done(t('taken', { count: result?.chunks ?? 0 }));
      load();
    } catch (error) {
      if (error.name !== 'AbortError') told.failed(error);
    }
  }

  // One after the other: the service reads them in that order anyway.
  const onfiles = async (files) => {
    for (const file of files) await take(file);
  };
  replace(
    body,
    question,
    h('div', { class: 'boxes' }, dropZone(app, { title: t('drop.title'), hint: t('drop.hint'), label: t('drop.choose'), accept: ACCEPT, onfiles }), fetching(app, uploads, load)),
    uploads,
    list,
  );
  load();
}

function fetching(app, uploads, load) {
  const url = h('input', { type: 'url', required: true, autocomplete: 'off' });
  const go = app.gated(h('button', { class: 'button', type: 'submit' }, t('fetch.go')), 'write');
  const out = h('div', {});
  const form = h('form', { class: 'card stack', data: { part: 'fetch' }, novalidate: true }, h('h2', {}, t('fetch.title')), h('p', { class: 'muted' }, t('fetch.hint')), field(t('fetch.address'), url), h('div', { class: 'row' }, go), app.lacking('write'), out);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    replace(out);
    const told = line(url.value.trim());
    try {
      const job = await busy(go, () => app.api.post('/v1/documents/fetch', { url: url.value.trim() }, app.signal));
      uploads.prepend(told.node);
      url.value = '';
      const { result } = await followed(app, job, told.working);
      told.done(t('taken', { count: result?.chunks ?? 0 }));
      load();
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (told.node.isConnected) told.failed(error);
      else replace(out, problem(error));
    }
  });
  return form;
}

function listed(app, all, load) {
  const rows = all.slice(0, SHOWN).map((one) => {
    const name = h('a', { href: '#/documents', onclick: (event) => (event.preventDefault(), openDocument(app, one)) }, own(one.title || one.source || one.id));
    const remove = app.gated(button({ label: t('remove'), icon: 'trash', text: false, small: true, kind: 'quiet', onclick: () => removing(app, one, load) }), 'erase');
    return [
      h('div', {}, name, one.title && one.source && one.title !== one.source && h('div', { class: 'muted small' }, own(one.source)), (one.warnings ?? []).map((warning) => h('div', { class: 'small warning' }, icon('alert', 14), own(warning)))),
      kindOf(one.media_type),
      size(one.size),
      one.pages == null ? format.NOTHING : format.number(one.pages),
      format.number(one.chunks),
      h('time', { datetime: one.time, title: format.dateTime(one.time) }, format.ago(one.time)),
      remove,
    ];
  });
  return [table([...['name', 'kind', 'size', 'pages', 'chunks', 'added'].map((key) => t(key)), ''], rows, { label: t('tab.documents'), classes: 'wide' }), all.length > SHOWN && h('p', { class: 'muted' }, t('partly', { count: SHOWN }))];
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
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    asked.question = question.value.trim();
    if (!asked.question) return void replace(out);
    try {
      replace(out, await busy(go, () => (asked.way === 'answer' ? answered(app, asked.question) : passages(app, asked.question))));
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  return form;
}

async function answered(app, question) {
  const answer = await app.api.post('/v1/ask', { question }, app.signal);
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

async function passages(app, query) {
  const { passages: found, why, places } = await app.api.post('/v1/documents/recall', { query, limit: PASSAGES, language: language() }, app.signal);
  if (!found.length) return empty({ icon: 'search', title: t('missed'), text: t('missed.text') });
  return found.map((one, at) =>
    h(
      'article',
      { class: 'memory hit' },
      h('button', { type: 'button', class: 'text', onclick: () => openDocument(app, { id: one.citation.document }, one.citation) }, marked(one.text.replace(/\n{2,}/g, '\n'), query)),
      h('div', { class: 'meta' }, h('span', { class: 'score' }, format.exact(one.score)), own(places[at]), (one.flags ?? []).map((flag) => badge(flag, 'warn'))),
      h('div', { class: 'explained' }, h('p', { class: 'why' }, h('b', {}, t('why'), ' '), why[at]), signalBars(one.signals)),
    ),
  );
}
