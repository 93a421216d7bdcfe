// The drawing of a graph: laid out by forces from a fixed beginning, so the same facts look the same every time.
import { speaking } from '../language.js';
import { button, h, replace, svg } from '../parts.js';
import { isOver, person, relation, short } from '../more.js';
import words from '../words/graph.js';

const t = speaking(words);
const ROUNDS = 260;
const A_FRAME = 8;
const LENGTH = 120;
const FEW = 45;
const SLACK = 5;
const PHONE = 620;
const READABLE = 1.9;
const CROWD = 2.2;

export function drawn({ app, start, edges, onopen }) {
  const web = netOf(start, edges);
  const picture = svg('svg', { class: 'web', role: 'group', tabindex: 0, 'aria-label': t('web.label', { names: web.nodes.length, facts: edges.length }) });
  const view = { x: -400, y: -280, w: 800, h: 560 };
  const shown = paint(picture, web, onopen, edges.length <= FEW);
  const look = () => {
    picture.setAttribute('viewBox', [view.x, view.y, view.w, view.h].map((one) => Math.round(one * 10) / 10).join(' '));
    // Where names would cover each other, those that are only named wait until somebody points at them or comes closer.
    picture.classList.toggle('crowded', (web.nodes.length * 9000 * (view.w / (picture.clientWidth || 800)) ** 2) / (view.w * view.h) > CROWD);
  };

  function zoom(by, cx = view.x + view.w / 2, cy = view.y + view.h / 2) {
    const w = Math.min(Math.max(view.w * by, 120), 12_000);
    const share = w / view.w;
    view.x = cx - (cx - view.x) * share;
    view.y = cy - (cy - view.y) * share;
    view.w = w;
    view.h *= share;
    look();
  }

  function fit(whole = true) {
    const room = 54;
    const xs = web.nodes.map((node) => node.x);
    const ys = web.nodes.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs) - room, Math.max(...xs) + room, Math.min(...ys) - room, Math.max(...ys) + room];
    const shape = (picture.clientHeight || 560) / (picture.clientWidth || 800);
    view.w = Math.max(right - left, (bottom - top) / shape, 360);
    // At first names must be readable, even if not all of them are in sight.
    const most = READABLE * (picture.clientWidth || 800);
    const [cx, cy] = whole || view.w <= most ? [(left + right) / 2, (top + bottom) / 2] : [0, 0];
    if (!whole) view.w = Math.min(view.w, most);
    view.h = view.w * shape;
    view.x = cx - view.w / 2;
    view.y = cy - view.h / 2;
    look();
  }

  handled(picture, view, look, zoom, fit);
  settled(app, web, (done) => {
    shown();
    if (done) fit(false);
  });
  // Only once it stands in the page is its shape known.
  requestAnimationFrame(() => fit(false));
  const tools = h(
    'div',
    { class: 'row web-tools' },
    button({ label: t('in'), icon: 'plus', text: false, small: true, onclick: () => zoom(0.75) }),
    h('button', { type: 'button', class: 'button small only-icon', 'aria-label': t('out'), title: t('out'), onclick: () => zoom(1.33) }, '−'),
    button({ label: t('fit'), small: true, onclick: () => fit() }),
  );
  const legend = h('div', { class: 'legend' }, ['start', 'name', 'thing'].map((kind) => h('span', {}, h('i', { class: `n-${kind}` }), h('span', { class: 'plain' }, t(`legend.${kind}`)))), h('span', {}, h('i', { class: 'thin' }), h('span', { class: 'plain' }, t('legend.over'))));
  return h('section', { class: 'card stack web-box' }, h('div', { class: 'row between' }, legend, tools), picture, h('p', { class: 'hint' }, t('hint')));
}

// The key under which the service compares a name, as far as the edges tell.
export function keysOf(edges) {
  const known = new Map();
  for (const { source, target, fact } of edges) {
    known.set(fact.subject.toLowerCase(), source);
    known.set(fact.object.toLowerCase(), target);
  }
  return (name) => known.get(name.toLowerCase()) ?? name.toLowerCase();
}

// Names with their places. They begin on rings around the start, in the order in which they were met.
function netOf(start, edges) {
  const centre = keysOf(edges)(start);
  const byKey = new Map();
  const meet = (key, name, depth) => {
    const node = byKey.get(key) ?? { key, name, depth, degree: 0, subject: false, x: 0, y: 0, vx: 0, vy: 0 };
    node.degree += 1;
    byKey.set(key, node);
    return node;
  };
  const links = edges.map(({ source, target, depth, fact }) => {
    const near = source === centre || target === centre;
    const from = meet(source, fact.subject, source === centre ? 0 : near ? 1 : depth);
    const to = meet(target, fact.object, target === centre ? 0 : near ? 1 : depth);
    from.subject = true;
    return { from, to, fact, over: isOver(fact) };
  });
  const nodes = [...byKey.values()];
  const rings = new Map();
  for (const node of nodes) rings.set(node.depth, [...(rings.get(node.depth) ?? []), node]);
  for (const [depth, ring] of rings) {
    ring.forEach((node, at) => {
      const angle = (2 * Math.PI * at) / ring.length + depth;
      const far = depth * LENGTH * Math.max(1, ring.length / 14);
      [node.x, node.y] = [far * Math.cos(angle), far * Math.sin(angle)];
    });
  }
  return { nodes, links: curved(links), centre };
}

// Facts between the same two names lie beside each other.
function curved(links) {
  const pairs = new Map();
  for (const link of links) {
    const key = [link.from.key, link.to.key].sort().join('\u0000');
    link.lane = pairs.get(key) ?? 0;
    pairs.set(key, link.lane + 1);
  }
  return links;
}

// With reduced motion it is only shown when it has come to rest.
function settled(app, web, tell) {
  let left = ROUNDS;
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches || web.nodes.length < 2;
  const step = () => {
    for (let at = 0; at < (calm ? ROUNDS : A_FRAME) && left > 0; at += 1, left -= 1) pushed(web, left / ROUNDS);
    tell(left <= 0);
    if (left > 0 && !app.signal.aborted) requestAnimationFrame(step);
  };
  step();
}

function pushed({ nodes, links, centre }, heat) {
  for (let at = 0; at < nodes.length; at += 1) {
    const one = nodes[at];
    for (let next = at + 1; next < nodes.length; next += 1) {
      const other = nodes[next];
      const [dx, dy] = [one.x - other.x || 0.1 * (at - next), one.y - other.y || 0.1];
      const force = 5200 / (dx * dx + dy * dy + 60);
      one.vx += dx * force * 0.02;
      one.vy += dy * force * 0.02;
      other.vx -= dx * force * 0.02;
      other.vy -= dy * force * 0.02;
    }
  }
  for (const { from, to } of links) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const far = Math.hypot(dx, dy) || 1;
    const pull = ((far - LENGTH) / far) * 0.045;
    from.vx += dx * pull;
    from.vy += dy * pull;
    to.vx -= dx * pull;
    to.vy -= dy * pull;
  }
  // The drawing gets the shape of the screen: the shorter way is pulled harder to the middle.
  const [across, down] = innerWidth < PHONE ? [0.014, 0.004] : [0.002, 0.014];
  for (const node of nodes) {
    const most = 30 * heat + 1;
    const speed = Math.hypot(node.vx, node.vy) || 1;
    const slow = Math.min(1, most / speed);
    if (node.key === centre) [node.x, node.y] = [0, 0];
    else [node.x, node.y] = [node.x + node.vx * slow - node.x * across, node.y + node.vy * slow - node.y * down];
    [node.vx, node.vy] = [node.vx * 0.55, node.vy * 0.55];
  }
}

function paint(picture, { nodes, links, centre }, onopen, spoken) {
  const lines = links.map((link) => {
    const line = svg('path', { class: `edge${link.over ? ' over' : ''}` });
    const name = relation(link.fact.relation);
    const text = svg('text', { class: `edge-name${spoken ? '' : ' quiet'}`, translate: 'no' }, name);
    const title = svg('title', {}, `${person(link.fact.subject)} ${name} ${link.fact.object}${link.over ? ` (${t('over')})` : ''}`);
    return { link, line, text, node: svg('g', { class: 'link' }, title, line, text) };
  });
  const dots = nodes.map((node) => {
    const kind = node.key === centre ? 'start' : node.subject ? 'name' : 'thing';
    const size = Math.min(7 + 2.2 * Math.sqrt(node.degree), 20);
    const open = () => node.key !== centre && onopen(node.name);
    const dot = svg(
      'g',
      { class: `node n-${kind}`, role: 'button', tabindex: 0, 'aria-label': t('node', { name: person(node.name), count: node.degree }), data: { name: node.name }, onclick: open },
      svg('circle', { r: size }),
      svg('text', { y: size + 14, translate: 'no' }, short(person(node.name), 26)),
    );
    dot.addEventListener('keydown', (event) => (event.key === 'Enter' || event.key === ' ') && (event.preventDefault(), open()));
    dot.addEventListener('pointerenter', () => lines.forEach(({ link, node: line }) => line.classList.toggle('near', link.from === node || link.to === node)));
    dot.addEventListener('pointerleave', () => lines.forEach(({ node: line }) => line.classList.remove('near')));
    return { node, dot };
  });
  replace(picture, lines.map(({ node }) => node), dots.map(({ dot }) => dot));
  return () => {
    for (const { link, line, text } of lines) place(link, line, text);
    for (const { node, dot } of dots) dot.setAttribute('transform', `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
  };
}

function place({ from, to, lane }, line, text) {
  const [mx, my] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
  const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const bend = lane ? Math.ceil(lane / 2) * 34 * (lane % 2 ? 1 : -1) : 0;
  const [bx, by] = [mx - ((to.y - from.y) / far) * bend, my + ((to.x - from.x) / far) * bend];
  line.setAttribute('d', `M${from.x.toFixed(1)} ${from.y.toFixed(1)}Q${bx.toFixed(1)} ${by.toFixed(1)} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`);
  text.setAttribute('x', ((mx + bx) / 2).toFixed(1));
  text.setAttribute('y', ((my + by) / 2 - 3).toFixed(1));
}

// Wheel and two fingers zoom, dragging moves, and so do the arrows, plus and minus.
function handled(picture, view, look, zoom, fit) {
  const fingers = new Map();
  const at = (event) => {
    const box = picture.getBoundingClientRect();
    return [view.x + ((event.clientX - box.left) / box.width) * view.w, view.y + ((event.clientY - box.top) / box.height) * view.h];
  };
  picture.addEventListener('wheel', (event) => {
    // Without a key the wheel scrolls the page, as everywhere else, until the drawing has the focus.
    if (!event.ctrlKey && !event.metaKey && !picture.contains(document.activeElement)) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, ...at(event));
  }, { passive: false });
  picture.addEventListener('pointerdown', (event) => fingers.set(event.pointerId, [event.clientX, event.clientY]));
  picture.addEventListener('pointermove', (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    // A click that trembles is still a click.
    if (fingers.size === 1 && !picture.hasPointerCapture(event.pointerId) && Math.hypot(dx, dy) < SLACK) return;
    picture.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]);
      const is = Math.hypot(event.clientX - other[0], event.clientY - other[1]);
      zoom(was / (is || 1), ...at(event));
    } else {
      view.x -= (dx / picture.clientWidth) * view.w;
      view.y -= (dy / picture.clientHeight) * view.h;
      look();
    }
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const name of ['pointerup', 'pointercancel']) picture.addEventListener(name, (event) => fingers.delete(event.pointerId));
  picture.addEventListener('keydown', (event) => {
    const step = (x, y) => () => ((view.x += x * view.w), (view.y += y * view.h), look());
    const work = { ArrowLeft: step(-0.1, 0), ArrowRight: step(0.1, 0), ArrowUp: step(0, -0.1), ArrowDown: step(0, 0.1), '+': () => zoom(0.75), '=': () => zoom(0.75), '-': () => zoom(1.33), Home: () => fit() }[event.key];
    if (work) (event.preventDefault(), work());
  });
}
