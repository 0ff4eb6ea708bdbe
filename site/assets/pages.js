// The head of every page: its mark, the way to the other pages, light or dark. It is one list, so that a new page is a line here and a
// folder. It runs where it stands, before what follows is painted.
(() => {
  const pages = [
    ['train/', 'Train'],
    ['see/', 'See'],
    ['hear/', 'Hear'],
    ['write/', 'Write'],
    ['inside/', 'Look inside'],
    ['gallery/', 'Gallery'],
    ['elements/', 'Elements'],
    ['reference/', 'Reference'],
  ]
  const here = document.currentScript
  const root = new URL('..', here.src)
  const make = (name, attrs, ...children) => fill(document.createElement(name), attrs, children)
  const draw = (name, attrs, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attrs, children)
  function fill(e, attrs, children) {
    for (const [k, v] of Object.entries(attrs)) if (v !== null) e.setAttribute(k, v)
    e.append(...children)
    return e
  }
  const plain = (path) => path.replace(/index\.html$/, '')
  const link = (path, attrs, ...children) => {
    const url = new URL(path, root)
    return make('a', { ...attrs, href: url.href, 'aria-current': plain(url.pathname) === plain(location.pathname) ? 'page' : null }, ...children)
  }
  const thread = (x, y, width, height) => draw('rect', { x, y, width, height, rx: 2 })
  const mark = draw('svg', { class: 'weave', width: 26, height: 26, viewBox: '0 0 32 32', 'aria-hidden': 'true' },
    draw('g', { class: 'a' }, ...[4, 13, 22].map((x) => thread(x, 1, 6, 30))),
    draw('g', { class: 'b' }, ...[[1, 4, 11], [20, 4, 11], [11, 13, 10], [1, 22, 11], [20, 22, 11]].map(([x, y, w]) => thread(x, y, w, 6))))
  const half = draw('svg', { width: 20, height: 20, viewBox: '0 0 20 20', 'aria-hidden': 'true' },
    draw('circle', { cx: 10, cy: 10, r: 7.25, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 }),
    draw('path', { class: 'half', d: 'M10 2.75a7.25 7.25 0 0 1 0 14.5z' }))
  here.replaceWith(make('header', { class: 'top' }, make('div', { class: 'page' },
    link('./', { class: 'mark' }, mark, make('span', {}, 'Weft', make('span', { class: 'unseen' }, ', start page'))),
    make('nav', { 'aria-label': 'Pages' }, ...pages.map(([path, name]) => link(path, {}, name))),
    make('button', { id: 'theme', class: 'switch', type: 'button', 'aria-label': 'Dark colours', 'aria-pressed': 'false' }, half))))
})()
