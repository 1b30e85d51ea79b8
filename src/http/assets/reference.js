// Enhancements of the reference page, which works without them: copy buttons, a filter of the contents, and a mark
// on the current section.

for (const figure of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await copy(figure.querySelector('code'))
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
  figure.querySelector('figcaption').append(button)
}

async function copy(element) {
  if (navigator.clipboard) return navigator.clipboard.writeText(element.textContent)
  // Browsers offer no clipboard API to pages served over plain HTTP, as is common in private networks.
  getSelection().selectAllChildren(element)
  document.execCommand('copy')
}

for (const filter of document.querySelectorAll('.filter')) {
  const contents = filter.parentElement
  filter.hidden = false
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/)
    let found = 0
    for (const group of contents.querySelectorAll('.group')) {
      const name = group.querySelector('p').textContent.toLowerCase()
      let shown = 0
      for (const link of group.querySelectorAll('li a')) {
        const matches = words.every((word) => `${name} ${link.dataset.search}`.includes(word))
        link.parentElement.hidden = !matches
        if (matches) shown += 1
      }
      group.hidden = shown === 0
      found += shown
    }
    contents.querySelector('.nothing').hidden = found > 0
  })
}

const menu = document.querySelector('.menu')
menu?.addEventListener('click', (event) => {
  if (event.target.closest('a')) menu.open = false
})

const sidebar = document.querySelector('.sidebar')
const links = [...document.querySelectorAll('.sidebar li a, .menu li a')]
const targets = [...new Set(links.map((link) => link.hash))].map((hash) => document.getElementById(hash.slice(1)))

function mark() {
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2
  const current = atEnd ? targets.at(-1) : targets.findLast((target) => target.getBoundingClientRect().top < 140)
  for (const link of links) {
    const isCurrent = current !== undefined && link.hash === `#${current.id}`
    if (isCurrent === link.hasAttribute('aria-current')) continue
    if (!isCurrent) {
      link.removeAttribute('aria-current')
      continue
    }
    link.setAttribute('aria-current', 'location')
    if (!sidebar.contains(link)) continue
    const { top, bottom } = link.getBoundingClientRect()
    const frame = sidebar.getBoundingClientRect()
    if (top < frame.top || bottom > frame.bottom) sidebar.scrollTop += top - frame.top - frame.height / 2
  }
}

if (sidebar) {
  let waiting = false
  addEventListener(
    'scroll',
    () => {
      if (waiting) return
      waiting = true
      requestAnimationFrame(() => {
        waiting = false
        mark()
      })
    },
    { passive: true },
  )
  mark()
}
