// Search of the guides, which can be read without it. The index is loaded at the first use of the search box.

const box = document.querySelector('.search')
const results = document.querySelector('#results')
const article = document.querySelector('#page')
const mostResults = 40
let loading

function loadIndex() {
  loading ??= fetch('/docs/guides/search.json').then((answer) => {
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    return answer.json()
  })
  loading.catch(() => {
    loading = undefined
  })
  return loading
}

/** A section matches when its page title, heading and text together have every word. The title and the heading count more. */
function find(pages, words) {
  const found = []
  for (const page of pages) {
    for (const section of page.sections) {
      const title = page.title.toLowerCase()
      const heading = section.heading.toLowerCase()
      const text = section.text.toLowerCase()
      if (!words.every((word) => title.includes(word) || heading.includes(word) || text.includes(word))) continue
      if (!words.some((word) => heading.includes(word) || text.includes(word))) continue
      const phrase = words.join(' ')
      let score = page.group === 'Decisions' || page.group === 'Project' ? 0 : 2
      for (const word of words) {
        score += (title.includes(word) ? 3 : 0) + (heading.includes(word) ? 5 : 0)
        score += Math.min(text.split(word).length - 1, 3)
      }
      if (words.length > 1) score += (heading.includes(phrase) ? 8 : 0) + (text.includes(phrase) ? 4 : 0)
      found.push({ page, section, score })
    }
  }
  return found.sort((a, b) => b.score - a.score)
}

function element(name, ...children) {
  const made = document.createElement(name)
  made.append(...children)
  return made
}

function highlighted(text, words) {
  const lower = text.toLowerCase()
  const parts = []
  for (let start = 0; start < text.length; ) {
    const [next] = words
      .map((word) => ({ word, at: lower.indexOf(word, start) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at || b.word.length - a.word.length)
    const end = next ? next.at : text.length
    parts.push(text.slice(start, end))
    if (!next) break
    start = end + next.word.length
    parts.push(element('mark', text.slice(end, start)))
  }
  return parts
}

function excerpt(text, words) {
  const lower = text.toLowerCase()
  const phrase = lower.indexOf(words.join(' '))
  const first = phrase >= 0 ? phrase : Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0))
  let start = Math.max(0, (Number.isFinite(first) ? first : 0) - 70)
  if (start > 0) start = text.indexOf(' ', start) + 1
  const end = start + 220
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

function resultOf({ page, section }, words) {
  const link = element('a', element('strong', ...highlighted(section.heading, words)))
  link.href = section.anchor === '' ? page.url : `${page.url}#${section.anchor}`
  if (section.heading !== page.title) link.append(element('small', page.title))
  link.append(element('span', ...highlighted(excerpt(section.text, words), words)))
  return element('li', link)
}

async function search() {
  const query = box.value.trim()
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const address = new URL(location.href)
  if (words.length > 0) address.searchParams.set('q', query)
  else address.searchParams.delete('q')
  // So that going back to this page shows the results again.
  history.replaceState(null, '', address)
  article.hidden = words.length > 0
  results.hidden = words.length === 0
  if (words.length === 0) return
  try {
    const found = find(await loadIndex(), words)
    // A later input has replaced this search.
    if (box.value.trim() !== query) return
    const more = found.length > mostResults ? `, the best ${mostResults} shown` : ''
    const title = `${found.length} ${found.length === 1 ? 'result' : 'results'} for “${query}”${more}`
    const list = element('ol', ...found.slice(0, mostResults).map((each) => resultOf(each, words)))
    results.replaceChildren(element('h1', title), list)
    scrollTo(0, 0)
  } catch (error) {
    results.replaceChildren(
      element('p', `The search index could not be loaded: ${error.message}. Type again to retry.`),
    )
  }
}

box.hidden = false
if (matchMedia('(hover: hover)').matches) box.placeholder = 'Search   /'
box.addEventListener('focus', () => loadIndex().catch(() => undefined))
box.addEventListener('input', search)
box.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') results.querySelector('a')?.click()
})
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && box.value !== '') {
    box.value = ''
    search()
  }
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input')) return
  event.preventDefault()
  box.select()
})
// A result on this page changes only the fragment.
results.addEventListener('click', (event) => {
  const link = event.target.closest('a')
  if (link?.pathname !== location.pathname) return
  box.value = ''
  search()
})
box.value = new URL(location.href).searchParams.get('q') ?? ''
if (box.value !== '') search()

const menu = document.querySelector('.menu')
const sidebar = document.querySelector('.sidebar')
const current = sidebar.querySelector('[aria-current]')
if (current) sidebar.scrollTop = current.offsetTop - sidebar.offsetTop - sidebar.clientHeight / 2
menu.addEventListener('toggle', () => {
  const link = menu.querySelector('[aria-current]')
  if (menu.open && link) menu.querySelector('nav').scrollTop = link.offsetTop - menu.clientHeight / 2
})
