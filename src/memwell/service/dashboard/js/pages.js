// The pages there are. A new page is a file in pages/ and a line here; its name has a word in words/shell.js ("nav.…").
// The file exports show(root, app, where):
//   root   the empty <main> to fill; begin with pageHead(…) of shell.js
//   app    { api, me, signal, go(name, query), toast(text, { action, onaction }), failed(error), can(scope), gated(control, scope), lacking(scope) }
//   where  { name, rest, query }: of #/memories/some-id?q=text, rest is ['some-id'] and query the URLSearchParams
// and may give back { moved(where), leave() }: moved is told of a new address of the same page (without it the page is
// shown anew), leave that the page goes. Its words stand in words/<name>.js; what it asks for ends with app.signal.
//   load: fetches the file; a second time with a query, since a browser does not ask again for what once failed.
//   needs: the scope without which it is not shown, or scopes of which one will do; group: where it stands; thumb: also in the bar of a phone.
export const PAGES = [
  { name: 'overview', icon: 'overview', needs: 'read', group: 'see', thumb: true, load: (again = '') => import(`./pages/overview.js${again}`) },
  { name: 'memories', icon: 'memories', needs: 'read', group: 'see', thumb: true, load: (again = '') => import(`./pages/memories.js${again}`) },
  { name: 'conversations', icon: 'chat', needs: 'read', group: 'see', load: (again = '') => import(`./pages/conversations.js${again}`) },
  { name: 'people', icon: 'person', needs: 'read', group: 'see', load: (again = '') => import(`./pages/people.js${again}`) },
  { name: 'documents', icon: 'file', needs: 'read', group: 'see', load: (again = '') => import(`./pages/documents.js${again}`) },
  { name: 'playground', icon: 'play', needs: 'read', group: 'use', thumb: true, load: (again = '') => import(`./pages/playground.js${again}`) },
  { name: 'start', icon: 'plus', needs: 'write', group: 'use', load: (again = '') => import(`./pages/start.js${again}`) },
  { name: 'audit', icon: 'shield', needs: 'read', group: 'run', load: (again = '') => import(`./pages/audit.js${again}`) },
  { name: 'settings', icon: 'key', needs: 'read', group: 'run', load: (again = '') => import(`./pages/settings.js${again}`) },
  { name: 'spaces', icon: 'spaces', needs: ['admin', 'spaces'], group: 'run', load: (again = '') => import(`./pages/spaces.js${again}`) },
];

export const mayOpen = (page, me) => [page.needs].flat().some((scope) => me.key.scopes.includes(scope));

export const GROUPS = ['see', 'use', 'run'];
