// The guided first memory: tell it something, ask for it, see the prompt, and take the lines for your own program along.
import { MIN_RELEVANCE, address, session } from '../api.js';
import * as format from '../format.js';
import { language, speaking } from '../language.js';
import { busy, field, h, icon, replace } from '../parts.js';
import { messages, tokenBar } from '../prompts.js';
import { copyButton, pageHead, problem } from '../shell.js';
import { signalBars } from '../signals.js';
import words from '../words/start.js';

const t = speaking(words);
const BUDGET = 500;
const HIDDEN = 'mw_…';

export function show(root, app) {
  root.append(pageHead(t('title'), t('lead')), guide(app, { headed: false }));
}

export function guide(app, { headed = true } = {}) {
  const query = h('input', { value: t('ask.example') });
  const steps = [tell(app), ask(app, query), see(app, query), next()];
  steps.forEach((step, at) => {
    step.onward = () => {
      step.node.classList.add('done');
      steps[at + 1]?.node.classList.remove('waiting');
    };
    if (at && at < 3) step.node.classList.add('waiting');
  });
  return h('div', { class: 'stack' }, headed && h('div', {}, h('h2', {}, t('title')), h('p', { class: 'muted' }, t('lead'))), h('div', { class: 'steps' }, steps.map((step) => step.node)));
}

// One step: a control, a button, and a place for what comes of it.
function step(name, controls, work) {
  const go = h('button', { class: 'button primary', type: 'submit' }, t(`${name}.go`));
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  const form = h('form', { class: 'stack' }, h('div', {}, h('h2', {}, t(`${name}.title`)), h('p', { class: 'muted' }, t(`${name}.text`))), controls, h('div', { class: 'row' }, go), out);
  const made = { node: h('div', { class: 'card step', data: { step: name } }, h('span', { class: 'mark', 'aria-hidden': 'true' }), form) };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      replace(out, await busy(go, work));
      made.onward();
    } catch (error) {
      if (error.name !== 'AbortError') replace(out, problem(error));
    }
  });
  return made;
}

function tell(app) {
  const text = h('textarea', { rows: 4, value: t('tell.example') });
  return step('tell', field(t('tell.title'), text, { bare: true }), async () => {
    const content = text.value.split('\n').map((line) => line.trim()).filter(Boolean);
    const { ids, rejected = [] } = await app.api.post('/v1/memories', { content }, app.signal);
    const reasons = format.list(rejected.flatMap((one) => one.reasons ?? []));
    return [
      h('p', { class: 'row' }, icon('check'), t('tell.done', { count: ids.length })),
      rejected.length > 0 && h('p', { class: 'muted' }, t('tell.refused', { count: rejected.length, reasons })),
    ];
  });
}

function ask(app, query) {
  return step('ask', field(t('ask.title'), query, { bare: true }), async () => {
    const { items: hits } = await app.api.post('/v1/recall', { query: query.value, limit: 3, language: language(), min_relevance: MIN_RELEVANCE }, app.signal);
    if (!hits.length) return h('p', {}, t('ask.none'));
    return hits.map((hit) =>
      h(
        'article',
        { class: 'memory hit' },
        h('p', {}, hit.text),
        h('p', { class: 'muted small score' }, format.exact(hit.score)),
        h('div', { class: 'explained' }, h('p', { class: 'why' }, h('b', {}, t('why'), ' '), hit.why), signalBars(hit.signals, hit)),
      ),
    );
  });
}

function see(app, query) {
  return step('see', null, async () => {
    const prompt = await app.api.post('/v1/context', { query: query.value, budget: BUDGET, language: language() }, app.signal);
    return [tokenBar(prompt), messages(prompt)];
  });
}

function next() {
  const box = h('div', { class: 'stack' });
  const reveal = h('input', { type: 'checkbox' });
  const draw = () => replace(box, snippets(reveal.checked));
  reveal.addEventListener('change', draw);
  draw();
  const body = h(
    'div',
    { class: 'stack' },
    h('div', {}, h('h2', {}, t('next.title')), h('p', { class: 'muted' }, t('next.text'))),
    h('label', { class: 'check' }, reveal, h('span', {}, t('reveal'))),
    box,
    h('div', { class: 'row' }, h('a', { class: 'button', href: '#/memories' }, t('more')), h('a', { class: 'button', href: '#/overview', onclick: () => dispatchEvent(new HashChangeEvent('hashchange')) }, t('overview'))),
  );
  return { node: h('div', { class: 'card step' }, h('span', { class: 'mark', 'aria-hidden': 'true' }), body) };
}

function snippets(revealed) {
  const url = address('').href.replace(/[#?].*$/, '').replace(/\/$/, '');
  return Object.entries(lines(url, revealed ? session.key : HIDDEN)).map(([name, text]) =>
    h(
      'div',
      { class: 'snippet', data: { snippet: name } },
      // What is copied is what is shown: nobody passes on a key without having seen it.
      h('div', { class: 'row between' }, h('h3', {}, t(name)), copyButton(text)),
      h('pre', { class: 'code', tabindex: 0 }, text),
    ),
  );
}

function lines(url, key) {
  const question = t('ask.example');
  const headers = { Authorization: `Bearer ${key}` };
  const json = (value) => JSON.stringify(value, null, 2);
  return {
    python: `import memwell\n\nmemory = memwell.open("${url}", key="${key}")\nprint(memory.recall("${question}")[0])`,
    curl: `curl ${url}/v1/recall -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" -d '{"query": "${question}"}'`,
    // The same four as in docs/mcp.md.
    'claude-desktop': json({ mcpServers: { memwell: { command: 'memwell', args: ['mcp', '--store', url, '--key-file', '/path/to/memwell.key'] } } }),
    'claude-code': `claude mcp add --transport http memwell ${url}/mcp --header "Authorization: Bearer ${key}"`,
    cursor: json({ mcpServers: { memwell: { url: `${url}/mcp`, headers } } }),
    vscode: json({ servers: { memwell: { type: 'http', url: `${url}/mcp`, headers } } }),
  };
}
