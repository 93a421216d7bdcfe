// The playground: a question becomes the exact prompt that a model would get.
import { language, speaking } from '../language.js';
import { busy, empty, field, h, replace, skeleton } from '../parts.js';
import { messages, receipt, tokenBar } from '../prompts.js';
import { pageHead, problem } from '../shell.js';
import words from '../words/playground.js';

const t = speaking(words);
const LEAST = 100;
const MOST = 16_000;
const LOOKED_UP = 5;
// What was typed stays when the page is left or the language changes.
const typed = { query: null, thread: '', budget: 1000, system: '', profile: '', documents: false };

export function show(root, app, where) {
  const out = h('div', { class: 'stack', 'aria-live': 'polite' }, empty({ icon: 'play', title: t('empty.title'), text: t('empty.text') }));
  const query = h('textarea', { rows: 3, value: where.query.get('q') ?? typed.query ?? t('query.example'), data: { search: '' }, required: true });
  const run = app.gated(h('button', { class: 'button primary', type: 'submit' }, t('run')), null);
  const form = h('form', { class: 'card stack' }, field(t('query'), query), options(app), run, app.lacking(null));
  query.addEventListener('input', () => (typed.query = query.value));
  query.addEventListener('keydown', (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && form.requestSubmit());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!run.disabled) busy(run, () => make(out, app, query.value));
  });
  root.append(pageHead(t('title'), t('lead')), h('div', { class: 'bench' }, form, out));
  if (where.query.get('q')) form.requestSubmit();
}

function options(app) {
  return [
    budget(),
    suggested('thread', app, '/v1/threads', (page) => page.items.map((one) => one.thread.id)),
    suggested('profile', app, '/v1/profiles', (found) => found.items.map((one) => one.name)),
    field(t('system'), kept(h('textarea', { rows: 2 }), 'system'), { hint: t('system.hint') }),
    documents(),
  ];
}

function kept(control, name) {
  control.value = typed[name];
  control.addEventListener('input', () => (typed[name] = control.value));
  return control;
}

function budget() {
  const number = h('input', { type: 'number', min: 1, max: 1_000_000, value: typed.budget, 'aria-label': t('budget') });
  const slider = h('input', { type: 'range', min: LEAST, max: MOST, step: 100, value: typed.budget });
  slider.addEventListener('input', () => (number.value = typed.budget = Number(slider.value)));
  number.addEventListener('input', () => (slider.value = typed.budget = Number(number.value)));
  const made = field(t('budget'), slider);
  made.append(h('div', { class: 'budget' }, slider, number));
  return made;
}

function documents() {
  const box = h('input', { type: 'checkbox', checked: typed.documents });
  box.addEventListener('change', () => (typed.documents = box.checked));
  return h('label', { class: 'check' }, box, h('span', {}, t('documents')));
}

// A text with suggestions that come when they come; without them it is a plain text.
function suggested(name, app, from, pick) {
  const choices = h('datalist', { id: `playground-${name}` });
  app.api
    .get(from, {}, app.signal)
    .then((found) => replace(choices, pick(found).slice(0, 50).map((value) => h('option', { value }))))
    .catch(() => {});
  const control = kept(h('input', { list: choices.id, autocomplete: 'off' }), name);
  const made = field(t(name), control, { hint: t(`${name}.hint`) });
  made.append(choices);
  return made;
}

// The names of the passages that the question finds: a receipt has only their numbers.
async function lookedUp(app, query) {
  if (!typed.documents || !query.trim()) return new Map();
  const { items } = await app.api.post('/v1/documents/recall', { query, limit: LOOKED_UP, language: language() }, app.signal).catch(() => ({ items: [] }));
  return new Map(items.map((one) => [one.id, { place: one.place, text: one.text }]));
}

async function make(out, app, query) {
  replace(out, skeleton(4, 'block'));
  const asked = { query, budget: typed.budget, language: language(), look_up: typed.documents ? LOOKED_UP : 0 };
  for (const name of ['thread', 'system', 'profile']) {
    if (typed[name].trim()) asked[name] = typed[name].trim();
  }
  try {
    const [prompt, passages] = await Promise.all([app.api.post('/v1/context', asked, app.signal), lookedUp(app, query)]);
    replace(out, tokenBar(prompt), messages(prompt), receipt(prompt, app, { passages, profile: asked.profile ?? '' }));
  } catch (error) {
    if (error.name !== 'AbortError') replace(out, problem(error));
  }
  // Where it stands below the form, what came of it must not stay out of sight.
  const { top } = out.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 120) out.scrollIntoView({ block: 'start' });
}
