// The text of a document in a drawer, at the place that was cited.
import { path } from '../api.js';
import * as format from '../format.js';
import { speaking } from '../language.js';
import { dialog, h, notice, replace, skeleton } from '../parts.js';
import { own, size } from '../more.js';
import { copyButton, problem, t as shellT } from '../shell.js';
import words from '../words/documents.js';

const t = speaking(words);
const MOST = 200_000;

export function openDocument(app, document, citation = null) {
  const body = h('div', { class: 'stack' }, skeleton(8));
  const drawer = dialog({ title: t('text'), kind: 'drawer', closing: shellT('close') }, body);
  load();

  async function load() {
    try {
      const [known, { text }] = await Promise.all([app.api.get(path`/v1/documents/${document.id}`, {}, app.signal), app.api.get(path`/v1/documents/${document.id}/text`, {}, app.signal)]);
      fill(known, text);
    } catch (error) {
      if (error.name !== 'AbortError') replace(body, problem(error, load));
    }
  }

  function fill(known, text) {
    // The service counts characters, JavaScript halves of some of them.
    const points = Array.from(text);
    const { start = 0, end = 0 } = citation ?? {};
    const from = points.length > MOST ? Math.max(Math.min(start - MOST / 2, points.length - MOST), 0) : 0;
    const piece = (one, other) => points.slice(Math.max(one, from), Math.min(other, from + MOST)).join('');
    const mark = end > start && h('mark', { tabindex: -1 }, piece(start, end));
    replace(
      body,
      h('h3', {}, own(known.title || known.source || known.id)),
      h('p', { class: 'muted small row' }, known.source && own(known.source), h('span', {}, t('text.size', { size: size(known.size) })), known.pages != null && h('span', {}, t('pages.count', { count: known.pages })), h('span', {}, t('chunks.count', { count: known.chunks })), h('span', {}, format.dateTime(known.time))),
      (known.warnings ?? []).map((warning) => notice('warn', own(warning))),
      points.length > MOST && notice('plain', t('text.partly', { count: format.number(MOST), of: format.number(points.length) })),
      h('div', { class: 'row' }, copyButton(() => text)),
      h('div', { class: 'document-text', tabindex: 0, role: 'region', 'aria-label': t('text'), translate: 'no' }, mark ? [piece(0, start), mark, piece(end, points.length)] : piece(0, points.length)),
    );
    if (mark) {
      mark.scrollIntoView({ block: 'center' });
      mark.focus({ preventScroll: true });
    }
  }

  return drawer;
}
