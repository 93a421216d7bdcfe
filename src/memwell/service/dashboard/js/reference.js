// The reference of the API, drawn from the description that the service gives of itself.
import { language, speaking } from './language.js';
import { h, replace } from './parts.js';
import words from './words/reference.js';

const t = speaking(words);
const root = document.getElementById('reference');
document.documentElement.lang = language();

const described = await fetch('openapi.json').then((answer) => answer.json());
const schemas = described.components.schemas;
const operations = Object.entries(described.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => ({ path, method: method.toUpperCase(), ...one })));

const filter = h('input', { type: 'search', 'aria-label': t('filter'), placeholder: t('filter') });
const list = h('div');
filter.addEventListener('input', () => replace(list, menu(filter.value.trim().toLowerCase())));
replace(list, menu(''));
replace(
  root,
  h('nav', { 'aria-label': t('operations') }, filter, list),
  h('main', {}, h('h1', {}, `memwell API ${described.info.version}`), paragraphs(described.info.description), h('p', {}, h('a', { href: 'openapi.json' }, 'openapi.json'), ' · ', h('a', { href: './' }, t('page'))), operations.map(article)),
);
// The browser looked for the place before it was there.
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();

function menu(asked) {
  const fits = operations.filter((one) => `${one.path} ${one.operationId} ${one.summary}`.toLowerCase().includes(asked));
  return described.tags.map(({ name }) => {
    const own = fits.filter((one) => one.tags.includes(name));
    return own.length > 0 && [h('h2', {}, name), h('ul', {}, own.map((one) => h('li', {}, h('a', { href: `#${one.operationId}` }, one.operationId))))];
  });
}

function article(one) {
  const body = Object.entries(one.requestBody?.content ?? {});
  const answers = Object.entries(one.responses).filter(([status]) => status < 300);
  const problems = Object.keys(one.responses).filter((status) => status >= 300);
  return h(
    'article',
    { id: one.operationId },
    h('h2', {}, one.operationId),
    h('p', { class: 'address' }, h('span', { class: 'method' }, one.method), one.path),
    paragraphs(one.summary),
    one.description && h('div', { class: 'scope' }, paragraphs(one.description)),
    one.parameters.length > 0 && [h('h3', {}, t('parameters')), fields(one.parameters.map((field) => [field.name, field.schema, field.description, field.required]))],
    body.map(([kind, { schema, example }]) => [h('h3', {}, t('body'), ' ', h('span', { class: 'scope' }, kind)), shape(schema), example && h('pre', { tabindex: 0 }, JSON.stringify(example, null, 2))]),
    answers.map(([status, answer]) => [h('h3', {}, t('answer'), ' ', status), Object.values(answer.content ?? {}).map(({ schema }) => shape(schema))]),
    h('p', { class: 'scope' }, t('problems'), ' ', problems.join(', ')),
  );
}

// What a schema holds; what it refers to is folded until somebody looks.
function shape(schema, open = true) {
  if (schema.anyOf && !schema.type) return schema.anyOf.filter((one) => one.type !== 'null').map((one) => shape(one, open));
  const name = schema.$ref?.split('/').pop();
  const found = name ? schemas[name] : schema;
  if (!found.properties) return h('p', {}, h('code', {}, typeName(schema)));
  const inside = h('div');
  const fill = () => inside.firstChild || replace(inside, found.description && paragraphs(found.description), fields(Object.entries(found.properties).map(([key, field]) => [key, field, field.description, found.required?.includes(key)])), refersTo(found));
  if (open) fill();
  const details = h('details', { open }, h('summary', {}, h('code', {}, name ?? t('object'))), inside);
  details.addEventListener('toggle', fill);
  return details;
}

function refersTo(schema) {
  const named = JSON.stringify(schema.properties).match(/#\/components\/schemas\/\w+/g) ?? [];
  return [...new Set(named)].map((one) => shape({ $ref: one }, false));
}

function fields(rows) {
  return h('table', {}, h('thead', {}, h('tr', {}, ['field', 'type', 'meaning'].map((key) => h('th', { scope: 'col' }, t(key))))), h('tbody', {}, rows.map(([name, schema, about, needed]) => h('tr', {}, h('td', {}, h('code', {}, name), needed && h('span', { class: 'scope' }, ` ${t('needed')}`)), h('td', {}, typeName(schema)), h('td', {}, inline(about ?? ''))))));
}

function typeName(schema) {
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.anyOf) return schema.anyOf.filter((one) => one.type !== 'null').map(typeName).join(' | ');
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.type === 'array') return `[${typeName(schema.items ?? {})}]`;
  return schema.format ?? schema.type ?? t('anything');
}

function paragraphs(text) {
  return text.split(/\n\n+/).map((one) => h('p', {}, inline(one)));
}

function inline(text) {
  return text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part));
}
