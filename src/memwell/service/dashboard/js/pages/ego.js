// One name and what it is connected with, as a map that is read like a page: the name in the middle, neighbours on both sides,
// the relation on each line. What is no name of anything, such as a birthday, stands in the middle as an attribute.
import { speaking } from '../language.js';
import { h, replace, svg } from '../parts.js';
import { person, relation, short } from '../more.js';
import words from '../words/people.js';

const t = speaking(words);
const MOST = 30;
const LINE = 34;
const HIGH = 24;
const GAP = 140;
const PHONE = 620;
const LONGEST = 22;
// Relations whose value is the name of somebody or something.
const NAMING = new Set(['lives_in', 'from', 'works_at', 'works_in', 'studies_at', 'studies_in', 'graduated_from', 'married_to', 'partner', 'parent', 'child', 'sibling', 'relative', 'friend', 'colleague', 'pet', 'owns', 'visited', 'bought', 'knows', 'member_of']);

const keyOf = (name) => name.toLowerCase();

export function egoGraph({ app, name, facts, subjects }) {
  const box = h('div', { class: 'stack' });
  // The facts of the middle, and of those that were opened.
  const opened = new Map([[keyOf(name), facts]]);

  async function toggle(node) {
    if (opened.has(node.key)) opened.delete(node.key);
    else {
      const found = await app.api.get('/v1/graph', { start: node.name, depth: 1, limit: MOST }, app.signal).catch(app.failed);
      if (!found) return;
      opened.set(node.key, found.items.map((edge) => edge.fact));
    }
    draw(node.key);
  }

  function draw(focused) {
    const tree = grown(name, opened, subjects);
    const picture = paint(tree, toggle, box.clientWidth || 760);
    replace(box, tree.attributes.length > 0 && attributes(tree), tree.children.length > 0 ? picture : h('p', { class: 'muted' }, t('alone')), tree.left > 0 && h('p', { class: 'muted small' }, t('ego.left', { count: tree.left })), tree.children.length > 0 && h('p', { class: 'hint' }, t('ego.hint')));
    if (!focused) return;
    picture.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    // What a narrow picture opens stands to the right.
    if (opened.has(focused)) picture.scrollLeft = picture.scrollWidth;
  }

  draw();
  // Only once it stands in the page is its width known.
  const watch = new ResizeObserver(() => Math.abs((box.dataset.wide ?? 0) - box.clientWidth) > 40 && ((box.dataset.wide = box.clientWidth), draw()));
  watch.observe(box);
  app.signal.addEventListener('abort', () => watch.disconnect());
  return box;
}

function attributes(tree) {
  return h('dl', { class: 'facts-list attributes' }, tree.attributes.map(([how, values]) => [h('dt', {}, how), h('dd', { translate: 'no' }, values.join(' · '))]));
}

// The map as a tree: { name, attributes, children: [{ name, key, labels, children }], left }.
function grown(name, opened, subjects) {
  const seen = new Set([keyOf(name)]);
  const budget = { left: MOST - 1, over: 0 };
  const tree = around(name, opened, subjects, seen, budget);
  for (const child of tree.children) {
    if (opened.has(child.key)) Object.assign(child, { open: true, children: around(child.name, opened, subjects, seen, budget).children });
  }
  return { ...tree, left: budget.over };
}

function around(name, opened, subjects, seen, budget) {
  const key = keyOf(name);
  const near = new Map();
  const literal = new Map();
  for (const fact of opened.get(key) ?? []) {
    const outwards = keyOf(fact.subject) === key;
    const other = outwards ? fact.object : fact.subject;
    if (outwards && !NAMING.has(fact.relation) && !subjects.has(keyOf(other))) {
      const how = relation(fact.relation);
      literal.set(how, [...new Set([...(literal.get(how) ?? []), fact.object])]);
      continue;
    }
    const node = near.get(keyOf(other)) ?? { name: other, key: keyOf(other), labels: [], children: [] };
    const label = { how: relation(fact.relation), outwards };
    if (!node.labels.some((one) => one.how === label.how && one.outwards === outwards)) node.labels.push(label);
    near.set(node.key, node);
  }
  const children = [];
  for (const node of near.values()) {
    if (seen.has(node.key)) continue;
    if (budget.left <= 0) {
      budget.over += 1;
      continue;
    }
    budget.left -= 1;
    seen.add(node.key);
    children.push(node);
  }
  return { name, key, attributes: [...literal], children };
}

// The arrow points along the relation: away from the middle, or to it.
function told({ how, outwards }, way = 1) {
  return way > 0 === outwards ? `${how} →` : `← ${how}`;
}

const rowsOf = (node) => Math.max(1, node.children.length);
const wide = (text, each = 7.2) => [...text].reduce((sum, sign) => sum + (/\p{Script=Han}/u.test(sign) ? 1.8 * each : each), 22);

function paint(tree, toggle, width) {
  const narrow = width < PHONE;
  // The halves are about as high as each other; a narrow picture has one side only.
  const sides = [[], []];
  const high = [0, 0];
  for (const child of tree.children) {
    const side = narrow || high[0] <= high[1] ? 0 : 1;
    sides[side].push(child);
    high[side] += rowsOf(child);
  }
  const height = Math.max(...high, 2) * LINE + 16;
  const middle = Math.min(wide(short(person(tree.name), LONGEST)), 190);
  const x = narrow ? middle / 2 + 4 : width / 2;
  const at = { x, y: height / 2, left: x - middle / 2, right: x + middle / 2 };
  const lines = [];
  const nodes = [];
  sides.forEach((children, side) => {
    const way = side ? -1 : 1;
    let y = (height - high[side] * LINE) / 2;
    for (const child of children) {
      const own = { x: at.x + way * (middle / 2 + GAP), y: y + (rowsOf(child) * LINE) / 2 };
      lines.push(edge({ x: at.x + way * (middle / 2), y: at.y }, own, child.labels, way));
      nodes.push(pill(child, own, way, toggle, Math.min(wide(short(person(child.name), LONGEST)), 190)));
      child.children.forEach((leaf, place) => {
        const from = { x: own.x + way * Math.min(wide(short(person(child.name), LONGEST)), 190), y: own.y };
        const to = { x: from.x + way * (GAP - 20), y: y + (place + 0.5) * LINE };
        lines.push(edge(from, to, leaf.labels, way));
        nodes.push(pill(leaf, to, way, null, Math.min(wide(short(person(leaf.name), LONGEST)), 190)));
      });
      y += rowsOf(child) * LINE;
    }
  });
  const centre = svg('g', { class: 'ego-node n-start' }, svg('rect', { x: at.x - middle / 2, y: at.y - HIGH / 2 - 3, width: middle, height: HIGH + 6, rx: 9 }), svg('text', { x: at.x, y: at.y + 5, translate: 'no' }, short(person(tree.name), LONGEST)));
  const all = tree.children.length + tree.children.reduce((sum, child) => sum + child.children.length, 0);
  const picture = svg('svg', { class: 'ego', role: 'group', 'aria-label': t('ego.label', { name: person(tree.name), count: all }), width, height, viewBox: `0 0 ${width} ${height}` }, lines, centre, nodes);
  return h('div', { class: 'ego-box', tabindex: 0, role: 'region', 'aria-label': t('relations') }, fitted(picture, width, height, nodes, at));
}

// What was opened may stand beyond the edge: then the picture moves aside, or shows a wider part that can be scrolled.
function fitted(picture, width, height, nodes, at) {
  const left = Math.min(at.left, ...nodes.map((node) => Number(node.dataset.left))) - 4;
  const right = Math.max(at.right, ...nodes.map((node) => Number(node.dataset.right))) + 4;
  const wide = Math.max(right - left, width);
  const from = right > width || left < 0 ? Math.min(Math.max(right - wide, 0), left) : 0;
  picture.setAttribute('viewBox', `${from} 0 ${wide} ${height}`);
  picture.setAttribute('width', wide);
  return picture;
}

const saidOf = (node) => node.labels.map((label) => told(label)).join(', ');

function pill(node, at, way, toggle, width) {
  const left = way > 0 ? at.x : at.x - width;
  const name = person(node.name);
  const body = [svg('title', {}, `${saidOf(node)} ${name}`), svg('rect', { x: left, y: at.y - HIGH / 2, width, height: HIGH, rx: 8 }), svg('text', { x: left + width / 2, y: at.y + 4.5, translate: 'no' }, short(name, LONGEST))];
  const data = { key: node.key, name: node.name, left, right: left + width };
  if (!toggle) return svg('a', { class: 'ego-node', href: `#/people/${encodeURIComponent(node.name)}`, 'aria-label': name, data }, body);
  const made = svg('g', { class: `ego-node${node.open ? ' open' : ''}`, role: 'button', tabindex: 0, 'aria-expanded': String(Boolean(node.open)), 'aria-label': t('ego.node', { name, how: saidOf(node) }), data }, body);
  made.addEventListener('click', () => toggle(node));
  made.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === ' ') (event.preventDefault(), toggle(node));
    if (event.key === 'o') location.hash = `#/people/${encodeURIComponent(node.name)}`;
  });
  made.addEventListener('dblclick', () => (location.hash = `#/people/${encodeURIComponent(node.name)}`));
  return made;
}

function edge(from, to, labels, way) {
  const all = labels.map((label) => told(label, way));
  const name = short(all[0], 20) + (all.length > 1 ? ` +${all.length - 1}` : '');
  // The name of a line stands above its end, where lines do not cross; so far the line is level.
  const level = to.x - way * Math.min(wide(name, 6.2) - 10, Math.abs(to.x - from.x) - 24);
  const bend = (level - from.x) / 2;
  const path = svg('path', { class: 'edge', d: `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${from.x + bend} ${to.y} ${level} ${to.y}H${to.x}` });
  const text = svg('text', { class: 'edge-name', x: to.x - way * 6, y: to.y - 4, 'text-anchor': way > 0 ? 'end' : 'start' }, name);
  return svg('g', { class: 'link' }, svg('title', {}, all.join(', ')), path, text);
}

