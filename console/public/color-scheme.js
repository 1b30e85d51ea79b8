// Before anything is drawn: a page that is light for a moment and then dark hurts the eyes.
{
  const chosen = localStorage.getItem('penstock-color-scheme')
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
}
