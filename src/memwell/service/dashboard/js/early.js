// Before the first paint, so that nobody sees the other theme flash by. Not a module: those wait for the whole page.
try {
  document.documentElement.dataset.theme = localStorage.getItem('memwell.theme') || 'auto';
} catch {
  document.documentElement.dataset.theme = 'auto';
}
