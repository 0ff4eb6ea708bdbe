// The light or dark choice, applied before the first paint. Without a choice the system's holds.
(() => {
  const root = document.documentElement
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const chosen = () => {
    try {
      return localStorage.getItem('weft-theme')
    } catch {
      return null // storage may be forbidden: the choice then lasts as long as the page
    }
  }
  const now = () => root.dataset.theme || (dark.matches ? 'dark' : 'light')
  const stored = chosen()
  if (stored === 'light' || stored === 'dark') root.dataset.theme = stored

  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme')
    const show = () => {
      button.setAttribute('aria-pressed', String(now() === 'dark'))
      document.dispatchEvent(new CustomEvent('themechange'))
    }
    button.addEventListener('click', () => {
      const next = now() === 'dark' ? 'light' : 'dark'
      if (next === (dark.matches ? 'dark' : 'light')) delete root.dataset.theme
      else root.dataset.theme = next
      try {
        if (root.dataset.theme) localStorage.setItem('weft-theme', next)
        else localStorage.removeItem('weft-theme')
      } catch {
        // see chosen
      }
      show()
    })
    dark.addEventListener('change', show)
    show()
  })
})()
