// What answers a question: a line for each memory, with its score as one bar of the reasons, on a scale that all share.
import { MIN_RELEVANCE, path } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { busy, button, empty, h, notice, replace, skeleton, svg } from '../parts.js';
import { marked, own, short } from '../more.js';
import { speakerName } from '../names.js';
import { FAMILIES, families, familyName } from '../signals.js';
import words from '../words/memories.js';
import { narrowedRecall } from './facets.js';

const t = speaking(words);
const FOUND = 40;
const LONGEST = 400;

export async function recalled({ app, list, count, query, known }) {
  const question = query.get('q');
  const asked = { query: question, limit: FOUND, language: language(), min_relevance: 0, ...narrowedRecall(query) };
  replace(list, skeleton(8));
  const { items: hits } = await app.api.post('/v1/recall', asked, app.signal);
  hits.forEach((hit) => known.set(hit.id, hit));
  const relevant = hits.filter((hit) => hit.relevance >= MIN_RELEVANCE);
  const rest = hits.filter((hit) => hit.relevance < MIN_RELEVANCE);
  count.textContent = t('found', { count: relevant.length });
  const scale = { most: Math.max(...hits.map((hit) => hit.score), 0.001), used: new Set() };
  const rows = (some) => some.map((hit) => row({ app, hit, question, scale, known, query }));
  const [above, below] = [rows(relevant), rows(rest)];
  replace(
    list,
    asked.as_of && notice('plain', t('as_of.note', { time: format.dateTime(asked.as_of) })),
    !relevant.length && h('div', { role: 'status' }, empty({ icon: 'search', title: t('missed.title'), text: t(asked.as_of ? 'missed.as_of' : 'missed.text') })),
    hits.length > 0 && legend(scale),
    hits.length > 0 &&
      h(
        'div',
        { class: 'sheet' },
        h(
          'table',
          { class: 'dense hits-table', 'aria-label': t('title') },
          h('thead', {}, h('tr', {}, [['bar', 'score.head'], ['text', 'text'], ['speaker', 'speaker'], ['said', 'said'], ['votes', 'useful']].map(([column, name]) => h('th', { scope: 'col', class: `c-${column}` }, column === 'bar' && [h('span', { class: 'score' }, t('relevance.head')), ' '], t(name))))),
          h('tbody', {}, above, below.length > 0 && cutOff(), below),
        ),
      ),
  );
}

// The reasons are told once: what the colours of all bars mean.
function legend(scale) {
  const named = Object.keys(FAMILIES).filter((family) => scale.used.has(family));
  return h('p', { class: 'legend reasons' }, h('span', { class: 'plain' }, t('legend.order')), h('span', { class: 'plain' }, t('legend')), named.map((family) => h('span', {}, h('i', { class: `f-${family}` }), h('span', { class: 'plain' }, familyName(family)))), h('span', { class: 'plain' }, t('legend.cut', { share: format.percent(MIN_RELEVANCE, 1) })));
}

function cutOff() {
  return h('tr', { class: 'cut' }, h('td', { colspan: 5 }, t('cut', { share: format.percent(MIN_RELEVANCE, 1) })));
}

function row({ app, hit, question, scale, known, query }) {
  const text = h('a', { class: 'text', href: `#/memories/${encodeURIComponent(hit.id)}?${query}`, data: { row: '' }, translate: 'no' }, markedHit(hit, question));
  const made = h(
    'tr',
    { class: `memory hit${hit.superseded_by ? ' old' : ''}${hit.relevance < MIN_RELEVANCE ? ' faint' : ''}`, data: { id: hit.id } },
    h('td', { class: 'c-bar' }, stack(hit, scale)),
    h('td', { class: 'c-text' }, text, hit.superseded_by && replacedBy(app, hit, known)),
    h('td', { class: 'c-speaker' }, own(speakerName(hit.speaker ?? ''))),
    h('td', { class: 'c-said' }, h('time', { datetime: hit.time, title: format.dateTime(hit.time, true) }, format.date(hit.time))),
    h('td', { class: 'c-votes' }, votes(app, hit)),
  );
  made.addEventListener('click', (event) => event.target.closest('a, button, input') || getSelection().toString() || text.click());
  return made;
}

// The words of the question, and those of the memory that the model found to mean the same.
function markedHit(hit, question) {
  const meant = (hit.matches ?? []).map((one) => one.found).join(' ');
  return marked(short(hit.text, LONGEST), `${question} ${meant}`);
}

function stack(hit, scale) {
  const parts = families(hit);
  const told = parts.map(([family, share]) => `${familyName(family)} ${format.percent(share)}`).join(', ');
  const label = `${t('relevance', { share: format.percent(hit.relevance) })}; ${t('score', { score: format.exact(hit.score) })}: ${told}`;
  const width = (100 * Math.max(hit.score, 0)) / scale.most;
  let at = 0;
  const bars = parts.map(([family, share]) => {
    scale.used.add(family);
    const x = at;
    at += share * width;
    return svg('rect', { class: `f-${family}`, x: `${x}%`, width: `${share * width}%`, y: 0, height: 10 });
  });
  return [h('span', { class: 'score' }, format.percent(hit.relevance)), svg('svg', { class: 'stacked', role: 'img', 'aria-label': label }, svg('title', {}, label), bars)];
}

function replacedBy(app, hit, known) {
  const id = hit.superseded_by;
  const link = h('a', { class: 'newer', href: `#/memories/${encodeURIComponent(id)}`, title: t('superseded.hint') }, t('superseded'));
  const tell = (text) => replace(link, t('superseded.by'), ' ', own(short(text, 60)));
  if (known.has(id)) tell(known.get(id).text);
  else app.api.get(path`/v1/memories/${id}`, {}, app.signal).then((memory) => tell(memory.text), () => {});
  return link;
}

function votes(app, hit) {
  return [true, false].map((useful) => {
    const vote = button({ label: t(useful ? 'useful' : 'useless'), icon: useful ? 'up' : 'down', kind: 'quiet', small: true, text: false });
    vote.addEventListener('click', async () => {
      try {
        await busy(vote, () => app.api.post(path`/v1/memories/${hit.id}/feedback`, { useful }));
        app.toast(t('thanks'));
        vote.parentElement.querySelectorAll('button').forEach((one) => one.setAttribute('aria-pressed', String(one === vote)));
      } catch (error) {
        app.failed(error);
      }
    });
    return app.gated(vote, 'write');
  });
}
